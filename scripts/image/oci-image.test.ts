// The image writer: the bytes that a registry and a container runtime read.
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { describe, expect, test } from "vitest";
import { completeEntries, listFolder, type ImageEntry } from "./image-entries.ts";
import { writeImage, writeImageTar, type ImageSpec } from "./oci-image.ts";
import { blobPath, type Descriptor } from "./oci-layer.ts";

interface Manifest {
  config: Descriptor;
  layers: Descriptor[];
}
interface Index {
  manifests: (Descriptor & { annotations: Record<string, string> })[];
}

const scratch = (): string => mkdtempSync(join(tmpdir(), "cupola-image-"));
const readJson = <T>(file: string): T => JSON.parse(readFileSync(file, "utf8")) as T;
const hexDigest = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

async function readTar(bytes: Buffer): Promise<{ header: Header; content: string }[]> {
  const reader = extract();
  reader.end(bytes);
  const found: { header: Header; content: string }[] = [];
  for await (const entry of reader) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    found.push({ header: entry.header, content: Buffer.concat(chunks).toString() });
  }
  return found;
}

function sampleFolder(): string {
  const folder = scratch();
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin", "run"), "#!/bin/sh\n", { mode: 0o700 });
  writeFileSync(join(folder, "notes.txt"), "secret\n", { mode: 0o600 });
  writeFileSync(join(folder, "readme.txt"), "hello\n", { mode: 0o640 });
  symlinkSync("readme.txt", join(folder, "link"));
  return folder;
}

const spec = (entries: ImageEntry[]): ImageSpec => ({
  layers: [{ name: "sample", entries }],
  config: { User: "10001", Entrypoint: ["/app/bin/run"] },
  reference: "registry.example.org/sample:1",
});

describe("writeImage", () => {
  test("index, manifest, config and layer name each other by digest", async () => {
    const layout = scratch();
    const { digest, size } = await writeImage(layout, spec(listFolder(sampleFolder(), "/app")));
    const [listed] = readJson<Index>(join(layout, "index.json")).manifests;
    expect(listed?.digest).toBe(digest);
    expect(listed?.annotations).toEqual({
      "io.containerd.image.name": "registry.example.org/sample:1",
      "org.opencontainers.image.ref.name": "1",
    });
    const manifestBytes = readFileSync(blobPath(layout, digest));
    expect(hexDigest(manifestBytes)).toBe(digest);
    const manifest = JSON.parse(manifestBytes.toString()) as Manifest;
    const [layer] = manifest.layers;
    const layerBytes = readFileSync(blobPath(layout, layer!.digest));
    expect(hexDigest(layerBytes)).toBe(layer!.digest);
    expect(layerBytes.length).toBe(size);
    const config = readJson<{ rootfs: object; config: object }>(blobPath(layout, manifest.config.digest));
    expect(config.rootfs).toEqual({ type: "layers", diff_ids: [hexDigest(gunzipSync(layerBytes))] });
    expect(config.config).toEqual({ User: "10001", Entrypoint: ["/app/bin/run"] });
  });

  test("a layer holds the folder with fixed times, owners and modes, and with the folders above", async () => {
    const layout = scratch();
    const entries = listFolder(sampleFolder(), "/app", {
      owner: { uid: 7, gid: 8 },
      exclude: (path) => path === "notes.txt",
    });
    const { digest } = await writeImage(layout, spec(entries));
    const [layer] = readJson<Manifest>(blobPath(layout, digest)).layers;
    const found = await readTar(gunzipSync(readFileSync(blobPath(layout, layer!.digest))));
    expect(
      found.map(({ header: { name, type, mode, uid, gid, linkname }, content }) => ({
        name,
        type,
        mode: mode?.toString(8),
        owner: `${uid}:${gid}`,
        ...(linkname && { linkname }),
        ...(content && { content }),
      })),
    ).toEqual([
      { name: "app", type: "directory", mode: "755", owner: "0:0" },
      { name: "app/bin", type: "directory", mode: "755", owner: "7:8" },
      { name: "app/bin/run", type: "file", mode: "755", owner: "7:8", content: "#!/bin/sh\n" },
      { name: "app/link", type: "symlink", mode: "777", owner: "7:8", linkname: "readme.txt" },
      { name: "app/readme.txt", type: "file", mode: "644", owner: "7:8", content: "hello\n" },
    ]);
    expect(found.map(({ header }) => header.mtime?.getTime())).toEqual(found.map(() => 0));
  });

  test("the same files give the same digest, whatever their times and umask", async () => {
    const [one, other] = [sampleFolder(), sampleFolder()];
    utimesSync(join(other, "readme.txt"), 1, 1);
    chmodSync(join(other, "readme.txt"), 0o666);
    const digests = [];
    for (const folder of [one, other])
      digests.push((await writeImage(scratch(), spec(listFolder(folder, "/app")))).digest);
    expect(digests[0]).toBe(digests[1]);
    writeFileSync(join(other, "readme.txt"), "other\n");
    const changed = await writeImage(scratch(), spec(listFolder(other, "/app")));
    expect(changed.digest).not.toBe(digests[0]);
  });

  test("the tar of a layout holds all of it", async () => {
    const layout = scratch();
    await writeImage(layout, spec([{ type: "file", path: "/hello", mode: 0o644, content: "hello" }]));
    await writeImageTar(layout, join(layout, "image.tar"));
    const names = (await readTar(readFileSync(join(layout, "image.tar")))).map(({ header }) => header.name);
    expect(names).toHaveLength(5);
    expect(names.slice(0, 2)).toEqual(["oci-layout", "index.json"]);
    expect(names.slice(2).every((name) => /^blobs\/sha256\/[0-9a-f]{64}$/.test(name))).toBe(true);
  });

  test("a reference without a tag and a file that is not there are refused", async () => {
    await expect(writeImage(scratch(), { ...spec([]), reference: "registry:5000/sample" })).rejects.toThrow(
      "with a tag",
    );
    const missing: ImageEntry = { type: "file", path: "/x", mode: 0o644, source: "/nowhere/x" };
    await expect(writeImage(scratch(), spec([missing]))).rejects.toThrow("/nowhere/x");
  });
});

describe("completeEntries", () => {
  test("of two entries with one path the last counts", () => {
    const first: ImageEntry = { type: "file", path: "/a", mode: 0o644, content: "1" };
    expect(completeEntries([first, { ...first, path: "/a/", content: "2" }])).toEqual([{ ...first, content: "2" }]);
  });

  test.each(["relative", "/", "../x"])("the path %s is refused", (path) => {
    expect(() => completeEntries([{ type: "directory", path, mode: 0o755 }])).toThrow("absolute path");
  });
});
