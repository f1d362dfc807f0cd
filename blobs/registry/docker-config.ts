// Credentials of registries, from a file in the form of a Secret of type kubernetes.io/dockerconfigjson. Pure: the caller reads the file.
import { parseJson } from "../../kube/api/parse-json.ts";
import { isDockerHub } from "./image-name.ts";

/** A user with a password, or a refresh token for the registry's token service. */
export type RegistryCredentials = { username: string; password: string } | { identityToken: string };

/** Parsed entries: the key without scheme, in lower case, and its credentials. */
export type DockerConfig = readonly { key: string; credentials: RegistryCredentials }[];

/** @throws Error that says what is wrong and quotes nothing of the file */
export function parseDockerConfig(text: string): DockerConfig {
  const config = asRecord(parseJson(text));
  const auths = asRecord(config?.["auths"]);
  if (!auths) {
    const helper = ["credsStore", "credHelpers"].find((key) => config?.[key] !== undefined);
    throw new Error(
      helper
        ? `it has ${helper}, and credential helpers are not supported: write the credentials under "auths"`
        : 'it has no object "auths", as a dockerconfigjson has',
    );
  }
  return Object.entries(auths).flatMap(([key, entry]) => {
    const credentials = toCredentials(key, asRecord(entry) ?? {});
    return credentials ? [{ key: normalizeKey(key), credentials }] : [];
  });
}

/** The credentials for a repository: the entry with the longest path wins, and `*` stands for one part of a host name, as in Kubernetes. */
export function findCredentials(
  config: DockerConfig,
  host: string,
  repository: string,
): RegistryCredentials | undefined {
  const matching = config.filter(({ key }) => matches(key, host, repository));
  return matching.sort((a, b) => b.key.length - a.key.length)[0]?.credentials;
}

/** The header of Basic authentication, or undefined for a token that only a token service takes. */
export function toBasic(credentials: RegistryCredentials): string | undefined {
  if (!("username" in credentials)) return undefined;
  return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64")}`;
}

function toCredentials(key: string, entry: Record<string, unknown>): RegistryCredentials | undefined {
  const { auth, username, password, identitytoken } = entry;
  if (typeof identitytoken === "string" && identitytoken !== "") return { identityToken: identitytoken };
  if (typeof username === "string" && typeof password === "string") return { username, password };
  if (typeof auth !== "string" || auth === "") return undefined;
  const [, user, secret] = /^([^:]+):(.*)$/s.exec(Buffer.from(auth, "base64").toString("utf8")) ?? [];
  if (user === undefined || secret === undefined)
    throw new Error(`the field "auth" of ${JSON.stringify(key)} is not user:password in base64`);
  return { username: user, password: secret };
}

/** `https://index.docker.io/v1/` and `Registry.Example/team/` are both keys that tools write. */
function normalizeKey(key: string): string {
  const [host = "", ...path] = key
    .toLowerCase()
    .replace(/^https?:\/\//, "")
    .replace(/\/+$/, "")
    .split("/");
  const isVersion = path.length === 1 && /^v[12]$/.test(path[0] ?? "");
  return [isDockerHub(host) ? "docker.io" : host, ...(isVersion ? [] : path)].join("/");
}

function matches(key: string, host: string, repository: string): boolean {
  const [keyHost = "", ...path] = key.split("/");
  const wanted = isDockerHub(host) ? "docker.io" : host;
  const keyParts = keyHost.split(".");
  const parts = wanted.split(".");
  const isHost = keyParts.length === parts.length && keyParts.every((part, at) => part === "*" || part === parts[at]);
  return isHost && (path.length === 0 || `${repository}/`.startsWith(`${path.join("/")}/`));
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
