// Droplets as files and as images, on a real registry: an uploaded file becomes an image, an image a file, and a copy is mounted.
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packMembers, readTar, type TarMember } from "../../../blobs/archive/tar.ts";
import { bytesSource } from "../../../blobs/registry/bytes-source.ts";
import { findCredentials, parseDockerConfig } from "../../../blobs/registry/docker-config.ts";
import { MEDIA_TYPES, type Descriptor, type ImageConfig } from "../../../blobs/registry/image-manifest.ts";
import { parseImageName } from "../../../blobs/registry/image-name.ts";
import { createImageStore } from "../../../blobs/registry/images/image-store.ts";
import { UnusableImage } from "../../../blobs/registry/images/launcher-layer.ts";
import { createDropletImages } from "../../../blobs/registry/images/make-droplet-image.ts";
import { createRegistryClient, type RegistryClient } from "../../../blobs/registry/registry-client.ts";
import { createRegistryStore } from "../../../blobs/registry/registry-store.ts";
import { maxBytes, space } from "../../../blobs/testing/store-under-test.ts";
import { startRegistry, whyNoRegistry, type TestRegistry } from "../../cluster/registry.ts";

const OTHER_SPACE = "5b1d1c0f-0000-4000-8000-000000000002";
const RUN_USER = "1002:1000";

describe.skipIf(whyNoRegistry())("droplets in a registry", () => {
  let registry: TestRegistry;
  let client: RegistryClient;
  let asked: string[] = [];
  let prefixes = 0;
  beforeAll(async () => {
    registry = await startRegistry();
    const config = parseDockerConfig(registry.dockerConfig);
    client = createRegistryClient({ credentials: async (host, path) => findCredentials(config, host, path) });
    const { findManifest, getManifest } = client;
    client.findManifest = (image) => (asked.push(image.repository), findManifest(image));
    client.getManifest = (image, platform) => (asked.push(image.repository), getManifest(image, platform));
  });
  afterAll(async () => {
    await client?.close();
    await registry?.stop();
  });

  /** A part of the registry that no other test has. */
  const newPrefix = () => ({ host: registry.host, path: `test-${++prefixes}` });

  /** Pushes an image with these layers, and returns its name. */
  async function pushImage(repository: string, layers: TarMember[][], config: ImageConfig["config"] = {}) {
    const place = { host: registry.host, repository };
    const packed = await Promise.all(layers.map((members) => buffer(packMembers(members))));
    const sources = packed.map((bytes) => bytesSource(bytes));
    const diffs = packed.map((bytes) => `sha256:${createHash("sha256").update(gunzipSync(bytes)).digest("hex")}`);
    const labels = JSON.stringify({ runImage: { topLayer: diffs[0] } });
    const content: ImageConfig = {
      os: "linux",
      architecture: "amd64",
      config: { Labels: { "io.buildpacks.lifecycle.metadata": labels }, ...config },
      rootfs: { type: "layers", diff_ids: diffs },
      history: diffs.map(() => ({ created_by: "test" })),
    };
    const configSource = bytesSource(Buffer.from(JSON.stringify(content)));
    for (const source of [...sources, configSource]) await client.uploadBlob(place, source);
    const toDescriptor = (mediaType: string, { digest, size }: Descriptor | (typeof sources)[number]) => ({
      mediaType,
      digest,
      size,
    });
    const manifest = {
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.manifest,
      config: toDescriptor(MEDIA_TYPES.config, configSource),
      layers: sources.map((source) => toDescriptor(MEDIA_TYPES.layer, source)),
    };
    const bytes = Buffer.from(JSON.stringify(manifest));
    const digest = await client.pushManifest({ ...place, tag: "1" }, { mediaType: MEDIA_TYPES.manifest, bytes });
    return { name: `${registry.host}/${repository}@${digest}`, diffs };
  }

  const file = (path: string, text: string): TarMember => ({
    path,
    type: "file",
    mode: 0o755,
    size: text.length,
    bytes: () => Promise.resolve(Buffer.from(text)),
  });

  async function bases() {
    const run = await pushImage("run", [[file("bin/sh", "a shell")]], {
      User: RUN_USER,
      Env: ["PATH=/bin"],
      Cmd: ["x"],
    });
    const builder = await pushImage("builder", [
      [file("bin/sh", "a shell of some size, so that it is read last")],
      [file("cnb/lifecycle/launcher", "launcher")],
    ]);
    return { run, base: { runImage: run.name, builderImage: builder.name, platformAPI: "0.14" } };
  }

  async function listFiles(stream: Readable): Promise<Record<string, string>> {
    const files: Record<string, string> = {};
    await readTar(stream, 1e6, async (header, body) => {
      files[header.name] = header.type === "symlink" ? `->${header.linkname}` : (await body.bytes()).toString();
    });
    return files;
  }

  test("an uploaded file is a layer on the run image, with the launcher and a link for each process type", async () => {
    const prefix = newPrefix();
    const { run, base } = await bases();
    const store = createRegistryStore({ client, prefix });
    const content = await store.put(space, "droplet", packMembers([file("app/run", "hi")]), { maxBytes });
    const make = createDropletImages(client, prefix);
    const request = {
      space,
      app: "an-app",
      droplet: "d1",
      content: content.digest,
      processTypes: ["web", "worker"],
      base,
    };
    const image = await make(request);
    expect(image).toMatch(new RegExp(`^${registry.host}/${prefix.path}/${space}/apps/an-app@sha256:[0-9a-f]{64}$`));
    // Whoever makes it again makes the same.
    expect(await createDropletImages(client, prefix)(request)).toBe(image);
    const name = parseImageName(image);
    const { config } = await client.getConfig(name);
    expect(config.config).toEqual({
      Labels: expect.anything(),
      User: RUN_USER,
      Env: expect.arrayContaining([
        "PATH=/bin",
        "CNB_APP_DIR=/workspace",
        "CNB_LAYERS_DIR=/layers",
        "CNB_PLATFORM_API=0.14",
      ]),
      Entrypoint: ["/cnb/lifecycle/launcher"],
      WorkingDir: "/workspace",
    });
    const { manifest } = await client.getManifest(name);
    expect(manifest.layers).toHaveLength(4);
    expect(config.rootfs?.diff_ids.slice(0, 1)).toEqual(run.diffs);
    expect(config.history).toHaveLength(4);
    const files: Record<string, string> = {};
    for (const [at, layer] of manifest.layers.entries()) {
      const bytes = await client.readBlob(name, layer, 1e6);
      const unpacked = createHash("sha256").update(gunzipSync(bytes)).digest("hex");
      expect(config.rootfs?.diff_ids[at]).toBe(`sha256:${unpacked}`);
      Object.assign(files, await listFiles(Readable.from([bytes])));
    }
    expect(files).toMatchObject({
      "bin/sh": "a shell",
      "app/run": "hi",
      "cnb/lifecycle/launcher": "launcher",
      "cnb/process/web": "->/cnb/lifecycle/launcher",
      "cnb/process/worker": "->/cnb/lifecycle/launcher",
    });
  });

  test("what is no tar.gz, and a builder image without a launcher, are said", async () => {
    const prefix = newPrefix();
    const { base } = await bases();
    const store = createRegistryStore({ client, prefix });
    const { digest } = await store.put(space, "droplet", Readable.from([Buffer.from("text")]), { maxBytes });
    const request = { space, app: "an-app", droplet: "d1", content: digest, processTypes: [], base };
    const make = createDropletImages(client, prefix);
    await expect(make(request)).rejects.toThrow(UnusableImage);
    const noLauncher = { ...base, builderImage: base.runImage };
    const content = await store.put(space, "droplet", packMembers([file("app/run", "hi")]), { maxBytes });
    await expect(make({ ...request, content: content.digest, base: noLauncher })).rejects.toThrow(
      /has no \/cnb\/lifecycle\/launcher/,
    );
  });

  test("a built image is a file with app and layers, and its manifest is read once", async () => {
    const prefix = newPrefix();
    const link: TarMember = { path: "workspace/link", type: "symlink", target: "/layers/x", mode: 0o777, size: 0 };
    const layers = [
      [file("bin/sh", "of the run image")],
      [file("layers/bp/node/bin/node", "node")],
      [file("workspace/server.js", "hi"), link],
      [file("cnb/lifecycle/launcher", "launcher"), file("layers/config/metadata.toml", "toml")],
    ];
    const { name } = await pushImage(`${prefix.path}/${space}/apps/an-app`, layers);
    const images = createImageStore(client, prefix);
    asked = [];
    const archive = await images.openDroplet({ space, image: name });
    expect(await listFiles(archive!)).toEqual({
      "layers/bp/node/bin/node": "node",
      "app/server.js": "hi",
      "app/link": "->/layers/x",
      "layers/config/metadata.toml": "toml",
    });
    expect(asked).toHaveLength(1);
    const copy = await images.copyDroplet(
      { space, image: name },
      { space: OTHER_SPACE, app: "another", droplet: "d2" },
    );
    expect(copy).toBe(name.replace(`${space}/apps/an-app`, `${OTHER_SPACE}/apps/another`));
    expect(await listFiles((await images.openDroplet({ space: OTHER_SPACE, image: copy }))!)).toHaveProperty(
      "app/server.js",
    );
  });

  test("an image that is not in the space's own part is neither read nor copied, whoever names it", async () => {
    const prefix = newPrefix();
    const { name } = await pushImage(`${prefix.path}/${OTHER_SPACE}/apps/an-app`, [[file("workspace/secret", "x")]]);
    const images = createImageStore(client, prefix);
    const elsewhere = (await bases()).run.name;
    for (const image of [name, elsewhere, name.replace(OTHER_SPACE, `${space}x`)]) {
      expect(await images.openDroplet({ space, image })).toBeUndefined();
      expect(await images.copyDroplet({ space, image }, { space, app: "a", droplet: "d" })).toBe(image);
    }
  });

  test("whoever goes away in the middle of a download stops it", async () => {
    const prefix = newPrefix();
    const big = file("workspace/big", "x".repeat(4_000_000));
    const { name } = await pushImage(`${prefix.path}/${space}/apps/an-app`, [[file("bin/sh", "")], [big]]);
    const archive = await createImageStore(client, prefix).openDroplet({ space, image: name });
    const closed = new Promise((resolve) => archive!.once("close", resolve));
    archive!.once("readable", () => archive!.destroy());
    await closed;
    expect(archive!.destroyed).toBe(true);
  });
});
