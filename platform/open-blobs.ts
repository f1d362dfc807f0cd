// Chooses the content store of this process: a registry where one is named, else a folder. Watches the registry for `/readyz`.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { BlobStore } from "../blobs/blob-store.ts";
import { createDirectoryStore } from "../blobs/directory/directory-store.ts";
import { readDockerConfigFile } from "../blobs/registry/docker-config-file.ts";
import type { RegistryPrefix } from "../blobs/registry/image-name.ts";
import { createRegistryClient, type RegistryClient } from "../blobs/registry/registry-client.ts";
import { createRegistryStore } from "../blobs/registry/registry-store.ts";
import type { CheckResult, Readiness } from "../kube/server/readiness.ts";
import type { PlatformOptions } from "./platform-options.ts";

/** The registry of this process, for what is no content of the blob store: images. */
export interface PlatformRegistry {
  client: RegistryClient;
  prefix: RegistryPrefix;
  insecureHosts: readonly string[];
  /** The text of the dockerconfigjson as it is now; undefined when the platform has none. */
  readDockerConfig(): Promise<string | undefined>;
}

export interface OpenedBlobs {
  blobs: BlobStore;
  registry?: PlatformRegistry;
}

const PING_INTERVAL_MS = 10_000;

/** @throws Error when the credentials cannot be read. A registry that is away is no error: requests that need it fail until it is back */
export async function openBlobs(
  { data, operations, registry: settings, log }: Pick<PlatformOptions, "data" | "operations" | "registry" | "log">,
  readiness: Readiness,
  disposables: AsyncDisposableStack,
): Promise<OpenedBlobs> {
  if (!settings) {
    if (operations.includes("api") !== operations.includes("controllers"))
      log.warn("without --registry uploads stay in this process's folder, where other processes do not find them");
    return { blobs: await createDirectoryStore(join(data, "blobs")) };
  }
  const { prefix, credentialsFile, insecureHosts } = settings;
  const client = createRegistryClient({
    credentials:
      credentialsFile === undefined ? () => Promise.resolve(undefined) : await readDockerConfigFile(credentialsFile),
    insecureHosts,
  });
  disposables.defer(() => client.close());
  const abort = new AbortController();
  const health = { result: true as CheckResult };
  readiness.addCheck("registry", () => health.result);
  void watchRegistry({ client, host: prefix.host, health, log }, abort.signal);
  disposables.defer(() => abort.abort());
  return {
    blobs: createRegistryStore({ client, prefix }),
    registry: {
      client,
      prefix,
      insecureHosts,
      readDockerConfig: () =>
        credentialsFile === undefined ? Promise.resolve(undefined) : readFile(credentialsFile, "utf8"),
    },
  };
}

/** Reads of the CF API do not need the registry, so a process without it is degraded, not unready. */
async function watchRegistry(
  { client, host, health, log }: { client: RegistryClient; host: string; health: { result: CheckResult }; log: Logger },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const fault = await client.ping(host).then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    if (signal.aborted) return;
    const wasFine = health.result === true;
    health.result = fault
      ? { degraded: `${fault.message}: uploads, builds and downloads fail until it answers` }
      : true;
    if (fault && wasFine) log.warn({ err: fault }, "the registry does not serve this process");
    if (!fault && !wasFine) log.info("the registry serves this process again");
    await delay(PING_INTERVAL_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
