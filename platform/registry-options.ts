// The options of `cupola` that name the registry of packages, droplets and images.
import type { Command } from "commander";
import { InvalidImageName, parseRegistryPrefix, type RegistryPrefix } from "../blobs/registry/image-name.ts";
import { readOptionFile } from "./read-option-file.ts";

/** The registry of a platform. All its replicas must have the same. */
export interface RegistrySettings {
  prefix: RegistryPrefix;
  /** Path of a dockerconfigjson; read again when a registry asks for credentials. Without it the platform has none. */
  credentialsFile?: string;
  /** Registries, as `host[:port]`, that are asked by plain http. */
  insecureHosts: readonly string[];
}

export interface RegistryOptions {
  registry?: string;
  registryCredentials?: string;
  insecureRegistry: string[];
}

export function addRegistryOptions(command: Command): Command {
  return command
    .option(
      "--registry <host[:port]/path>",
      "keep packages, droplets and built images below this path of an OCI registry (default: in the folder of --data)",
    )
    .option(
      "--registry-credentials <file>",
      "credentials of registries, as in a Secret of type kubernetes.io/dockerconfigjson",
    )
    .option(
      "--insecure-registry <host[:port]>",
      "a registry that is asked by plain http; may be repeated, and loopback needs none",
      (host: string, hosts: string[]) => [...hosts, host],
      [],
    );
}

/** @throws Error that names the option */
export function toRegistrySettings(options: RegistryOptions): RegistrySettings | undefined {
  const { registry, registryCredentials, insecureRegistry } = options;
  if (registry === undefined) {
    if (registryCredentials !== undefined || insecureRegistry.length > 0)
      throw new Error("--registry-credentials and --insecure-registry go with --registry");
    return undefined;
  }
  for (const host of insecureRegistry) parsePlace("--insecure-registry", `${host}/x`);
  if (registryCredentials !== undefined) readOptionFile("--registry-credentials", registryCredentials);
  return {
    prefix: parsePlace("--registry", registry),
    ...(registryCredentials !== undefined && { credentialsFile: registryCredentials }),
    insecureHosts: insecureRegistry,
  };
}

function parsePlace(option: string, text: string): RegistryPrefix {
  try {
    return parseRegistryPrefix(text);
  } catch (error) {
    if (error instanceof InvalidImageName) throw new Error(`${option}: ${error.message}`, { cause: error });
    throw error;
  }
}
