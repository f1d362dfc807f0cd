// The client against a real registry: what goes in comes out, whatever breaks in between.
import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRegistry, whyNoRegistry, type TestRegistry } from "../../cluster/registry.ts";
import type { BlobSource } from "../../../blobs/registry/blob-upload.ts";
import { readDockerConfigFile } from "../../../blobs/registry/docker-config-file.ts";
import { pushLayout } from "../../../blobs/registry/push-layout.ts";
import { MEDIA_TYPES } from "../../../blobs/registry/image-manifest.ts";
import { createRegistryClient, type RegistryClient } from "../../../blobs/registry/registry-client.ts";
import { ImageNotFound } from "../../../blobs/registry/registry-error.ts";

const reason = whyNoRegistry();
const sha256 = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const bytesSource = (bytes: Buffer): BlobSource => ({
  digest: sha256(bytes),
  size: bytes.length,
  open: (start, end) => bytes.subarray(start, end),
});

describe.skipIf(reason)("registry client", () => {
  let registry: TestRegistry;
  let client: RegistryClient;
  let directory: string;
  beforeAll(async () => {
    registry = await startRegistry();
    directory = await mkdtemp(join(tmpdir(), "cupola-client-"));
    await writeFile(join(directory, "config.json"), registry.dockerConfig);
    client = createRegistryClient({ credentials: await readDockerConfigFile(join(directory, "config.json")) });
  });
  afterAll(async () => {
    await client?.close();
    await registry?.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const place = (repository: string) => ({ host: registry.host, repository });

  async function push(repository: string, tag: string, layer: Buffer): Promise<string> {
    const config = Buffer.from(JSON.stringify({ os: "linux", architecture: "amd64", config: { Cmd: ["run", tag] } }));
    for (const bytes of [config, layer]) await client.uploadBlob(place(repository), bytesSource(bytes));
    const manifest = {
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.manifest,
      config: { mediaType: MEDIA_TYPES.config, digest: sha256(config), size: config.length },
      layers: [{ mediaType: MEDIA_TYPES.layer, digest: sha256(layer), size: layer.length }],
    };
    const bytes = Buffer.from(JSON.stringify(manifest));
    return client.pushManifest({ ...place(repository), tag }, { mediaType: MEDIA_TYPES.manifest, bytes });
  }

  test("an image that was pushed is found by tag and digest, with its configuration and layer", async () => {
    const layer = randomBytes(100_000);
    const digest = await push("team/app", "one", layer);
    const image = { ...place("team/app"), tag: "one" };
    expect(await client.resolve(image)).toBe(digest);
    expect(await client.exists({ ...place("team/app"), digest })).toBe(true);
    expect(await client.exists({ ...place("team/app"), tag: "other" })).toBe(false);
    const { config } = await client.getConfig(image);
    expect(config.config?.Cmd).toEqual(["run", "one"]);
    const { manifest } = await client.getManifest(image);
    expect(await buffer(await client.openBlob(place("team/app"), manifest.layers[0]!))).toEqual(layer);
    await push("team/app", "two", layer);
    expect((await client.listTags(place("team/app"))).sort()).toEqual(["one", "two"]);
    await client.deleteManifest(place("team/app"), digest);
    expect(await client.listTags(place("team/app"))).toEqual(["two"]);
    await expect(client.resolve(image)).rejects.toThrow(ImageNotFound);
    expect(await client.listTags(place("no/such"))).toEqual([]);
  });

  test("a layout is pushed with its index, and an image is chosen from it by platform", async () => {
    const layout = join(directory, "layout");
    await mkdir(join(layout, "blobs/sha256"), { recursive: true });
    const write = async (content: object | Buffer, mediaType: string) => {
      const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
      await writeFile(join(layout, "blobs/sha256", sha256(bytes).slice("sha256:".length)), bytes);
      return { mediaType, digest: sha256(bytes), size: bytes.length };
    };
    const imageFor = async (architecture: string) => {
      const config = await write({ os: "linux", architecture }, MEDIA_TYPES.config);
      const layers = [await write(randomBytes(1000), MEDIA_TYPES.layer)];
      const manifest = await write(
        { schemaVersion: 2, mediaType: MEDIA_TYPES.manifest, config, layers },
        MEDIA_TYPES.manifest,
      );
      return { ...manifest, platform: { os: "linux", architecture } };
    };
    const manifests = [await imageFor("amd64"), await imageFor("arm64")];
    const index = await write({ schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests }, MEDIA_TYPES.index);
    await writeFile(join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [index] }));
    const image = { ...place("team/multi"), tag: "v1" };
    expect(await pushLayout(client, layout, image)).toBe(index.digest);
    expect(await client.resolve(image)).toBe(index.digest);
    const arm = { os: "linux", architecture: "arm64" };
    expect(await client.getConfig(image, arm)).toEqual({ digest: manifests[1]?.digest, config: arm });
    await expect(client.getConfig(image, { os: "plan9", architecture: "mips" })).rejects.toThrow("for plan9/mips");
  });

  test("changed credentials are read again, and wrong ones are named without the password", async () => {
    const file = join(directory, "changing.json");
    const entry = (auth: string): string =>
      JSON.stringify({ auths: { [registry.host]: { auth: Buffer.from(auth).toString("base64") } } });
    await writeFile(file, entry("cupola:hunter2"));
    const changing = createRegistryClient({ credentials: await readDockerConfigFile(file) });
    try {
      await expect(changing.ping(registry.host)).rejects.toThrow(
        `the registry ${registry.host} refuses the credentials given for it`,
      );
      await expect(changing.ping(registry.host)).rejects.not.toThrow("hunter2");
      await writeFile(file, "no JSON");
      await expect(changing.ping(registry.host)).rejects.toThrow("is no dockerconfigjson");
      await writeFile(file, registry.dockerConfig);
      await changing.ping(registry.host);
    } finally {
      await changing.close();
    }
    const anonymous = createRegistryClient({ credentials: async () => undefined });
    await expect(anonymous.ping(registry.host)).rejects.toThrow("asks for credentials, and none are given for it");
    await anonymous.close();
  });

  test("a blob of several pieces arrives whole; one of another repository is mounted", async () => {
    const big = randomBytes(70 * 1024 * 1024);
    const source = bytesSource(big);
    await client.uploadBlob(place("big/a"), source);
    expect(sha256(await buffer(await client.openBlob(place("big/a"), source)))).toBe(source.digest);
    expect(await client.mountBlob(place("big/b"), source.digest, "big/a")).toBe(true);
    expect(await client.mountBlob(place("big/b"), sha256(Buffer.from("absent")), "big/a")).toBe(false);
    expect(await client.hasBlob(place("big/b"), source.digest)).toBe(true);
  });
});

if (reason) test.skip(`registry client: skipped, ${reason}`, () => undefined);
