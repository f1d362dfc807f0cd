// The contract of stores and packages on a real registry, and what only a registry has: images that others read, replicas, garbage.
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { findCredentials, parseDockerConfig } from "../../../blobs/registry/docker-config.ts";
import { createRegistryClient, type RegistryClient } from "../../../blobs/registry/registry-client.ts";
import { createRegistryStore } from "../../../blobs/registry/registry-store.ts";
import { packageSuite } from "../../../blobs/testing/package-suite.ts";
import { storeSuite } from "../../../blobs/testing/store-suite.ts";
import { maxBytes, space, type OpenStore } from "../../../blobs/testing/store-under-test.ts";
import { startRegistry, whyNoRegistry, type TestRegistry } from "../../cluster/registry.ts";

const reason = whyNoRegistry();

describe.skipIf(reason)("registry store", () => {
  let registry: TestRegistry;
  let client: RegistryClient;
  let prefixes = 0;
  beforeAll(async () => {
    registry = await startRegistry();
    const config = parseDockerConfig(registry.dockerConfig);
    client = createRegistryClient({ credentials: async (host, path) => findCredentials(config, host, path) });
  });
  afterAll(async () => {
    await client?.close();
    await registry?.stop();
  });

  const openStore: OpenStore = async () => {
    const path = `test-${++prefixes}`;
    return {
      store: createRegistryStore({ client, prefix: { host: registry.host, path } }),
      leftovers: () => listUploads(join(registry.repositories, path)),
    };
  };
  storeSuite(openStore);
  packageSuite(openStore);

  const put = (store: BlobStore, content: string | Buffer) =>
    store.put(space, "package", Readable.from([Buffer.from(content)]), { maxBytes });

  test("a package is an image with one layer that other tools read", async () => {
    const { store } = await openStore("");
    const tar = Buffer.alloc(1024);
    const { digest } = await put(store, gzipSync(tar));
    const image = {
      host: registry.host,
      repository: `test-${prefixes}/${space}/package`,
      tag: `content-${digest.slice("sha256:".length)}`,
    };
    const { manifest } = await client.getManifest(image);
    expect(manifest.layers).toMatchObject([{ mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", digest }]);
    const { config } = await client.getConfig(image);
    expect(config.rootfs?.diff_ids).toEqual([`sha256:${createHash("sha256").update(tar).digest("hex")}`]);
  });

  test("old writings of a content do not pile up", async () => {
    const { store } = await openStore("");
    const { digest } = await put(store, "content");
    for (let n = 0; n < 3; n++) await store.touch(space, digest);
    await put(store, "content");
    const place = { host: registry.host, repository: `test-${prefixes}/${space}/package` };
    expect(await client.listTags(place)).toHaveLength(2);
  });

  test("removal also finds a manifest whose tag another writing of the same millisecond took", async () => {
    const { store } = await openStore("");
    const { digest } = await put(store, "content");
    const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now());
    await Promise.all(Array.from({ length: 8 }, () => store.touch(space, digest)));
    clock.mockRestore();
    await store.remove(space, digest);
    expect(await store.list()).toEqual([]);
  });

  test("removal also takes a tag whose manifest is gone, as a deletion that broke off leaves it", async () => {
    const { store } = await openStore("");
    const { digest } = await put(store, "content");
    const path = join(`test-${prefixes}`, space, "package", "_manifests", "revisions");
    await rm(join(registry.repositories, path), { recursive: true });
    expect(await store.list()).toHaveLength(1);
    await store.remove(space, digest);
    expect(await store.list()).toEqual([]);
  });

  test("a content is whole on every replica while others put, touch and annotate it", async () => {
    const { store: first } = await openStore("");
    const second = createRegistryStore({ client, prefix: { host: registry.host, path: `test-${prefixes}` } });
    const { digest } = await put(first, "content");
    const writes = Array.from({ length: 12 }, (_, n) =>
      [() => first.touch(space, digest), () => put(second, "content"), () => second.writeNote(space, digest, "n")][
        n % 3
      ]!(),
    );
    await Promise.all(writes);
    for (const store of [first, second]) {
      expect(await store.has(space, digest)).toBe(true);
      expect(await store.list()).toHaveLength(1);
    }
    await second.remove(space, digest);
    expect(await first.list()).toEqual([]);
    expect(await first.has(space, digest)).toBe(false);
  });
});

async function listUploads(folder: string): Promise<string[]> {
  // A prefix without any content has no folder.
  const paths = existsSync(folder) ? await readdir(folder, { recursive: true }) : [];
  return paths.filter((path) => /\/_uploads\/[^/]+$/.test(path));
}

if (reason) test.skip(`registry store: skipped, ${reason}`, () => undefined);
