// The logins that docker keeps for the user of a laptop: in its file, or in the helper that the file names.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { CredentialSource } from "../../../blobs/registry/authorizer.ts";
import { findCredentials, parseDockerConfig, type RegistryCredentials } from "../../../blobs/registry/docker-config.ts";
import { isDockerHub } from "../../../blobs/registry/image-name.ts";
import { RegistryError } from "../../../blobs/registry/registry-error.ts";
import type { Environment } from "../../host/host-environment.ts";

const HELPER_DEADLINE_MS = 15_000;
/** How docker names Docker Hub to its helpers. */
const HUB = "https://index.docker.io/v1/";

interface UserConfig {
  auths?: unknown;
  credsStore?: unknown;
  credHelpers?: Record<string, unknown>;
}

/** Reads `config.json` of docker's folder whenever a registry asks. No file means no credentials. @param environment of helpers, whose programs are on its PATH */
export function userCredentials(folder: string, environment: Environment): CredentialSource {
  return async (host, repository) => {
    const file = join(folder, "config.json");
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) return undefined;
    const config = parse(text, file);
    const helper = helperOf(config, host);
    const helped = helper === undefined ? undefined : await askHelper(helper, host, environment);
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

/** Undefined when the helper is not there or has no login for the host, as docker does. */
async function askHelper(
  program: string,
  host: string,
  environment: Environment,
): Promise<RegistryCredentials | undefined> {
  const asked = promisify(execFile)(program, ["get"], { env: environment, timeout: HELPER_DEADLINE_MS });
  asked.child.stdin?.on("error", () => undefined); // a helper that has ended is told nothing
  asked.child.stdin?.end(isDockerHub(host) ? HUB : host);
  const stdout = await asked.then(
    (ended) => ended.stdout,
    () => "",
  );
  try {
    const { Username: username, Secret: secret } = JSON.parse(stdout) as Record<string, unknown>;
    if (typeof username !== "string" || typeof secret !== "string") return undefined;
    return username === "<token>" ? { identityToken: secret } : { username, password: secret };
  } catch {
    return undefined;
  }
}

function refused(message: string): RegistryError {
  return new RegistryError(message, { status: 401 });
}
