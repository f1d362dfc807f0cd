// A real registry for the doctor's probe, behind a proxy that breaks single requests; it has a builder image, and one with a lifecycle of another time.
import { bytesSource } from "../../../blobs/registry/bytes-source.ts";
import { MEDIA_TYPES } from "../../../blobs/registry/image-manifest.ts";
import { createRegistryClient, type RegistryClient } from "../../../blobs/registry/registry-client.ts";
import { startFaultProxy, type FaultProxy } from "../blobs/fault-proxy.ts";
import { REGISTRY_USER, startRegistry } from "../../cluster/registry.ts";

export interface ProbedRegistry {
  /** `host:port`. */
  host: string;
  proxy: FaultProxy;
  builderImage: string;
  oldBuilderImage: string;
  stop(): Promise<void>;
}

export async function startProbedRegistry(): Promise<ProbedRegistry> {
  const registry = await startRegistry();
  const proxy = await startFaultProxy(registry.host);
  const client = createRegistryClient({ credentials: () => Promise.resolve(REGISTRY_USER) });
  try {
    for (const [tag, api] of [
      ["1", "0.14"],
      ["old", "0.3"],
    ] as const)
      await pushBuilder(client, { host: proxy.host, repository: "builder", tag }, api);
  } finally {
    await client.close();
  }
  return {
    host: proxy.host,
    proxy,
    builderImage: `${proxy.host}/builder:1`,
    oldBuilderImage: `${proxy.host}/builder:old`,
    async stop() {
      await proxy.stop();
      await registry.stop();
    },
  };
}

async function pushBuilder(
  client: RegistryClient,
  image: { host: string; repository: string; tag: string },
  api: string,
): Promise<void> {
  const labels = {
    "io.buildpacks.builder.metadata": "{}",
    "io.buildpacks.lifecycle.apis": JSON.stringify({ platform: { supported: [api] } }),
  };
  const content = {
    os: "linux",
    architecture: "amd64",
    config: { Env: ["CNB_USER_ID=1001", "CNB_GROUP_ID=1000"], Labels: labels },
  };
  const config = bytesSource(Buffer.from(JSON.stringify(content)));
  await client.uploadBlob(image, config);
  const manifest = {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.manifest,
    config: { mediaType: MEDIA_TYPES.config, digest: config.digest, size: config.size },
    layers: [],
  };
  await client.pushManifest(image, { mediaType: MEDIA_TYPES.manifest, bytes: Buffer.from(JSON.stringify(manifest)) });
}
