// Memory of `cup` between two calls: the API, the kubeconfig user, the org and the space. No credential is kept.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { Failure } from "../failure.ts";

interface NamedResource {
  guid: string;
  name: string;
}

export interface Config {
  api?: string;
  /** Path of the kubeconfig; KUBECONFIG or ~/.kube/config when unset. */
  kubeconfig?: string;
  /** Context of the kubeconfig that names the user. */
  user?: string;
  /** File of the authority that the API's certificate is trusted by. */
  ca?: string;
  /** Any certificate of the API is taken. */
  skipSslValidation?: boolean;
  /** Id of the laptop's home that org and space are of, where no API was chosen. */
  home?: string;
  org?: NamedResource;
  space?: NamedResource;
}

/** Folder of `cup`: CUP_HOME, else a folder of CUPOLA_HOME, so that each Cupola of a machine has a target of its own, else ~/.cup. */
export function cupFolder(): string {
  const { CUP_HOME, CUPOLA_HOME } = process.env;
  return CUP_HOME ?? (CUPOLA_HOME === undefined ? join(homedir(), ".cup") : join(CUPOLA_HOME, "cup"));
}

function path(): string {
  return join(cupFolder(), "config.json");
}

/** A missing file is an empty target. @throws Failure when it is damaged. */
export function readConfig(): Config {
  let text: string;
  try {
    text = readFileSync(path(), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  try {
    return toConfig(JSON.parse(text));
  } catch (cause) {
    throw new Failure(`${path()} is damaged`, { next: "remove it, then: cup login", cause });
  }
}

/** The parts of it that this version knows. @throws TypeError that names the field of another type */
function toConfig(written: unknown): Config {
  if (typeof written !== "object" || written === null) throw new TypeError("it is no object");
  const { api, kubeconfig, user, ca, skipSslValidation, home, org, space } = written as Record<string, unknown>;
  return omitUndefined({
    api: toText(api, "api"),
    kubeconfig: toText(kubeconfig, "kubeconfig"),
    user: toText(user, "user"),
    ca: toText(ca, "ca"),
    skipSslValidation: skipSslValidation === true ? true : undefined,
    home: toText(home, "home"),
    org: toNamedResource(org, "org"),
    space: toNamedResource(space, "space"),
  });
}

function toText(value: unknown, field: string): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw new TypeError(`${field} is no text`);
}

function toNamedResource(value: unknown, field: string): NamedResource | undefined {
  if (value === undefined) return undefined;
  const { guid, name } = (value ?? {}) as Record<string, unknown>;
  if (typeof guid === "string" && typeof name === "string") return { guid, name };
  throw new TypeError(`${field} has no guid or no name`);
}

export function writeConfig(value: Config): void {
  const file = path();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.${process.pid}`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.${process.pid}`, file);
}

/** Chooses an org and perhaps a space; API and user stay as they were chosen, or not chosen. */
export function writeOrgAndSpace(chosen: Pick<Config, "org" | "space" | "home">): void {
  const { org: _org, space: _space, home: _home, ...config } = readConfig();
  const { org, space } = chosen;
  const home = config.api === undefined ? chosen.home : undefined;
  writeConfig({ ...config, ...omitUndefined({ org, space, home }) });
}
