// Credentials from a dockerconfigjson file, read again when it may have changed: a mounted Secret is replaced while the process runs.
import { readFile } from "node:fs/promises";
import type { CredentialSource } from "./authorizer.ts";
import { findCredentials, parseDockerConfig, type DockerConfig } from "./docker-config.ts";
import { RegistryError } from "./registry-error.ts";

/** Reads the file whenever a registry asks for credentials. @throws Error at once when it cannot be read or is wrong; later such a fault fails the request */
export async function readDockerConfigFile(path: string): Promise<CredentialSource> {
  await readConfig(path);
  return async (host, repository) => {
    const config = await readConfig(path).catch((cause: unknown) => {
      throw new RegistryError(`the credentials of ${host} cannot be read: ${(cause as Error).message}`, {
        status: 401,
        cause,
      });
    });
    return findCredentials(config, host, repository);
  };
}

async function readConfig(path: string): Promise<DockerConfig> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new Error(`${path} cannot be read: ${(cause as NodeJS.ErrnoException).code ?? "unknown error"}`, { cause });
  });
  try {
    return parseDockerConfig(text);
  } catch (error) {
    throw new Error(`${path} is no dockerconfigjson: ${(error as Error).message}`, { cause: error });
  }
}
