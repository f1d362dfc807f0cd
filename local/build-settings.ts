// The user's own proxies, certificate authorities and package registries, for builds on a laptop. Builds run as this user, in a HOME of their own. Pure.
import { join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** Taken as they are, in whichever case tools read them. */
const VARIABLES = new RegExp(
  `^(${[
    "(HTTPS?|ALL|NO)_PROXY",
    "NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_CAINFO|PIP_CERT",
    "NPM_CONFIG_(REGISTRY|CAFILE|USERCONFIG)",
    "PIP_(INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|TRUSTED_HOST|CONFIG_FILE)|UV_(DEFAULT_)?INDEX(_URL)?",
    "GO(PROXY|PRIVATE|NOPROXY|NOSUMDB|SUMDB|INSECURE|ENV)",
    "MAVEN_ARGS",
  ].join("|")})$`,
  "i",
);

/** Files of settings below the home folder, by the variable that leads a tool to them; the first that is there counts. */
const FILES: readonly (readonly [variable: string, ...paths: string[]])[] = [
  ["NPM_CONFIG_USERCONFIG", ".npmrc"],
  ["PIP_CONFIG_FILE", ".config/pip/pip.conf", ".pip/pip.conf", "Library/Application Support/pip/pip.conf"],
  ["GOENV", ".config/go/env", "Library/Application Support/go/env"],
  ["MAVEN_ARGS", ".m2/settings.xml"],
];

/** Variables for every build, over which an app's own win. @param exists whether there is such a file */
export function readBuildSettings(
  env: Environment,
  home: string,
  exists: (path: string) => boolean,
): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value && VARIABLES.test(name)) settings[name] = value;
  const given = new Set(Object.keys(settings).map((name) => name.toUpperCase()));
  for (const [variable, ...paths] of FILES) {
    const file = paths.map((path) => join(home, path)).find(exists);
    if (file !== undefined && !given.has(variable)) settings[variable] = toValue(variable, file);
  }
  return settings;
}

function toValue(variable: string, file: string): string {
  return variable === "MAVEN_ARGS" ? `--settings=${file}` : file;
}
