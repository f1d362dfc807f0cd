// Clean-up on a real registry: contents and built images that nothing refers to go after their grace, and only those.
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findCredentials, parseDockerConfig } from "../../../blobs/registry/docker-config.ts";
import { bytesSource } from "../../../blobs/registry/bytes-source.ts";
import { MEDIA_TYPES } from "../../../blobs/registry/image-manifest.ts";
import { createRegistryClient, type RegistryClient } from "../../../blobs/registry/registry-client.ts";
import { createRegistryStore } from "../../../blobs/registry/registry-store.ts";
import { maxBytes, space } from "../../../blobs/testing/store-under-test.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import { removeUnusedBlobs } from "../../../platform/operations/blob-removal.ts";
import { removeUnusedImages } from "../../../platform/operations/image-removal.ts";
import { startRegistry, whyNoRegistry, type TestRegistry } from "../../cluster/registry.ts";

const reason = whyNoRegistry();
const DAY_MS = 24 * 60 * 60_000;

describe.skipIf(reason)("clean-up of a registry", () => {
  let registry: TestRegistry;
  let client: RegistryClient;
  beforeAll(async () => {
    registry = await startRegistry();
    const config = parseDockerConfig(registry.dockerConfig);
    client = createRegistryClient({ credentials: async (host, path) => findCredentials(config, host, path) });
  });
  afterAll(async () => {
    await client?.close();
    await registry?.stop();
  });

  const reader = (objects: Record<string, unknown[]>): Reader =>
    ({ list: ({ kind }: ResourceRef) => objects[kind] ?? [] }) as unknown as Reader;
  const place = (repository: string) => ({ host: registry.host, repository });

  async function push(repository: string, ...tags: string[]): Promise<string> {
    const config = bytesSource(Buffer.from(JSON.stringify({ unique: randomBytes(8).toString("hex") })));
    await client.uploadBlob(place(repository), config);
    const manifest = {
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.manifest,
      config: { mediaType: MEDIA_TYPES.config, digest: config.digest, size: config.size },
      layers: [],
    };
    const bytes = Buffer.from(JSON.stringify(manifest));
    let digest = "";
    for (const tag of tags)
      digest = await client.pushManifest({ ...place(repository), tag }, { mediaType: MEDIA_TYPES.manifest, bytes });
    return digest;
  }

  test("a package without references is gone a day after it was last put", async () => {
    const store = createRegistryStore({ client, prefix: { host: registry.host, path: "contents" } });
    const put = (text: string) => store.put(space, "package", Readable.from([Buffer.from(text)]), { maxBytes });
    const [used, unused] = [await put("used"), await put("unused")];
    const read = reader({ Package: [{ spec: { content: used } }] });
    expect(
      await removeUnusedBlobs({ blobs: store, read, clusters: undefined, now: Date.now() + DAY_MS - 60_000 }),
    ).toBe(0);
    expect(
      await removeUnusedBlobs({ blobs: store, read, clusters: undefined, now: Date.now() + DAY_MS + 60_000 }),
    ).toBe(1);
    expect([await store.has(space, used.digest), await store.has(space, unused.digest)]).toEqual([true, false]);
  });

  test("built images go a day after they were first seen unused; droplets', builds' and apps' last ones stay", async () => {
    const shop = "cupola/space/apps/shop";
    const used = await push(shop, "used");
    await push(shop, "old");
    await push(shop, "building");
    await push(shop, "newest", "latest");
    await push(`${shop}/cache`, "latest");
    await push("cupola/space/apps/deleted", "latest");
    await push("cupola/space/apps/deleted/cache", "latest");
    await push("elsewhere/space/apps/shop", "old");
    const read = reader({
      App: [{ metadata: { name: "shop", labels: { "cupola.dev/guid": "shop" } }, spec: {} }],
      Droplet: [{ spec: { image: `${registry.host}/${shop}@${used}` } }],
      Staging: [{ spec: { buildGUID: "building", app: { guid: "shop" } }, status: {} }],
    });
    const look = (now: number, unusedSince: ReadonlyMap<string, number>) =>
      removeUnusedImages({
        registry: { client, prefix: { host: registry.host, path: "cupola" } },
        read,
        clusters: undefined,
        now,
        graceMs: DAY_MS,
        unusedSince,
      });
    const first = await look(0, new Map());
    expect(first?.removed).toBe(0);
    expect((await look(DAY_MS - 1, first!.unusedSince))?.removed).toBe(0);
    expect((await look(DAY_MS, first!.unusedSince))?.removed).toBe(3);
    expect((await client.listTags(place(shop))).sort()).toEqual(["building", "latest", "newest", "used"]);
    expect(await client.listTags(place(`${shop}/cache`))).toEqual(["latest"]);
    expect(await client.listTags(place("cupola/space/apps/deleted"))).toEqual([]);
    expect(await client.listTags(place("elsewhere/space/apps/shop"))).toEqual(["old"]);
  });
});

if (reason) test.skip(`clean-up of a registry: skipped, ${reason}`, () => undefined);
