// The logins that docker keeps for the user of a laptop: in its file, or in the helper that the file names.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { CredentialSource } from "../../../blobs/registry/authorizer.ts";
import { findCredentials, parseDockerConfig, type RegistryCredentials } from "../../../blobs/registry/docker-config.ts";
import { isDockerHub } from "../../../blobs/registry/image-name.ts";
import { RegistryError } from "../../../blobs/registry/registry-error.ts";
import { hostEnvironment, type Environment } from "../../host/host-environment.ts";

const HELPER_DEADLINE_MS = 15_000;
/** How docker names Docker Hub to its helpers. */
const HUB = "https://index.docker.io/v1/";

/** Where helpers find what they keep: pass its folder and keys, the desktop's keyring its bus, those of clouds their files below HOME. */
const HELPERS_VARIABLES = ["PASSWORD_STORE_DIR", "GNUPGHOME", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"];

interface UserConfig {
  auths?: unknown;
  credsStore?: unknown;
  credHelpers?: Record<string, unknown>;
}

/** The helper's program could not be run, or has failed; it gave no login. */
export type OnHelperFailed = (program: string) => void;

/** Variables for helpers, of the user's own. */
export function helperEnvironment(env: NodeJS.ProcessEnv = process.env): Environment {
  const own = HELPERS_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
  return { ...hostEnvironment(env["PATH"]), HOME: homedir(), ...Object.fromEntries(own) };
}

/** The logins in docker's folder, with helpers that run as this user. */
export function userLogins(folder: string): (onHelperFailed: OnHelperFailed) => CredentialSource {
  return (onHelperFailed) => userCredentials(folder, helperEnvironment(), onHelperFailed);
}

/**
 * Reads `config.json` of docker's folder whenever a registry asks. No file means no credentials; neither does a helper that fails, since the image may be
 * public. @param environment of helpers, whose programs are on its PATH
 */
export function userCredentials(
  folder: string,
  environment: Environment,
  onHelperFailed: OnHelperFailed = () => undefined,
): CredentialSource {
  return async (host, repository) => {
    const file = join(folder, "config.json");
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) return undefined;
    const config = parse(text, file);
    const helper = helperOf(config, host);
    const helped = helper === undefined ? undefined : await askHelper(helper, host, { environment, onHelperFailed });
    return helped ?? findCredentials(parseAuths(config, file), host, repository);
  };
}

/** The helper's program; the one of the host wins. Pure. */
export function helperOf({ credHelpers, credsStore }: UserConfig, host: string): string | undefined {
  const names = isDockerHub(host) ? [HUB, "index.docker.io", "docker.io"] : [host, `https://${host}`];
  const name = names.map((one) => credHelpers?.[one]).find((one) => one !== undefined) ?? credsStore;
  // Part of a program's name: nothing that leads elsewhere.
  return typeof name === "string" && /^[\w.-]+$/.test(name) ? `docker-credential-${name}` : undefined;
}

function parse(text: string, file: string): UserConfig {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    throw refused(`${file} is no valid JSON`);
  }
  throw refused(`${file} is no JSON object`);
}

function parseAuths({ auths = {} }: UserConfig, file: string): ReturnType<typeof parseDockerConfig> {
  try {
    return parseDockerConfig(JSON.stringify({ auths }));
  } catch (error) {
    throw refused(`${file} cannot be used: ${(error as Error).message}`);
  }
}

/** Undefined when the helper is not there, has failed, or has no login for the host, as docker does. */
async function askHelper(
  program: string,
  host: string,
  { environment, onHelperFailed }: { environment: Environment; onHelperFailed: OnHelperFailed },
): Promise<RegistryCredentials | undefined> {
  const asked = promisify(execFile)(program, ["get"], { env: environment, timeout: HELPER_DEADLINE_MS });
  asked.child.stdin?.on("error", () => undefined); // a helper that has ended is told nothing
  asked.child.stdin?.end(isDockerHub(host) ? HUB : host);
  try {
    return parseLogin((await asked).stdout);
  } catch (error) {
    // Docker's protocol for a host without a login.
    if (!/credentials not found/i.test((error as { stdout?: string }).stdout ?? "")) onHelperFailed(program);
    return undefined;
  }
}

function parseLogin(stdout: string): RegistryCredentials | undefined {
  const { Username: username, Secret: secret } = JSON.parse(stdout) as Record<string, unknown>;
  if (typeof username !== "string" || typeof secret !== "string") return undefined;
  return username === "<token>" ? { identityToken: secret } : { username, password: secret };
}

function refused(message: string): RegistryError {
  return new RegistryError(message, { status: 401 });
}
