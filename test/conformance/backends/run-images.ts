// Run images and the layers of images in a cluster's registry.
import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { pack } from "tar-stream";
import { MEDIA_TYPES } from "../../../blobs/registry/image-manifest.ts";
import { parseImageName } from "../../../blobs/registry/image-name.ts";
import { createRegistryClient, type RegistryClient } from "../../../blobs/registry/registry-client.ts";
import type { TestCluster } from "../../cluster/given/given-cluster.ts";

type Cluster = Pick<TestCluster, "registry">;

/** Pushes the image `from` as `to`, with one more layer, which has the file /patched. */
export function pushPatchedImage(cluster: Cluster, from: string, to: string): Promise<void> {
  return withClient(cluster, async (client) => {
    const [base, patched] = [parseImageName(from), parseImageName(to)];
    const { manifest } = await client.getManifest(base);
    const { config } = await client.getConfig(base);
    const tar = pack();
    tar.entry({ name: "patched" }, "patched");
    tar.finalize();
    const upload = async (bytes: Buffer): Promise<{ digest: string; size: number }> => {
      const blob = { digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`, size: bytes.length };
      await client.uploadBlob(patched, { ...blob, open: (start, end) => bytes.subarray(start, end) });
      return blob;
    };
    const layer = await upload(await buffer(tar));
    const rootfs = { type: "layers", diff_ids: [...(config.rootfs?.diff_ids ?? []), layer.digest] };
    const history = [...(config.history ?? []), { created_by: "patched" }];
    const described = await upload(Buffer.from(JSON.stringify({ ...config, rootfs, history })));
    const next = {
      ...manifest,
      config: { ...manifest.config, ...described },
      layers: [...manifest.layers, { mediaType: "application/vnd.oci.image.layer.v1.tar", ...layer }],
    };
    const mediaType = manifest.mediaType ?? MEDIA_TYPES.manifest;
    await client.pushManifest(patched, { mediaType, bytes: Buffer.from(JSON.stringify(next)) });
  });
}

/** Digests of the unpacked layers, the lowest first. */
export function listLayers(cluster: Cluster, image: string): Promise<string[]> {
  return withClient(
    cluster,
    async (client) => (await client.getConfig(parseImageName(image))).config.rootfs?.diff_ids ?? [],
  );
}

async function withClient<T>({ registry }: Cluster, use: (client: RegistryClient) => Promise<T>): Promise<T> {
  const { host, username, password } = registry;
  const client = createRegistryClient({
    credentials: () => Promise.resolve({ username, password }),
    insecureHosts: [host],
  });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
