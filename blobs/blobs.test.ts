// Uploads and the directory store: what is kept, what is refused, and that the same bits give the same digest.
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile, chmod } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ZipFile } from "yazl";
import { packDirectory, unpackTar } from "./archive/tar.ts";
import { isDiskFull } from "../kube/server/disk-full.ts";
import { mountSmallDisk, whyNoSmallDisk } from "../kube/testing/small-disk.ts";
import { createDirectoryStore } from "./directory/directory-store.ts";
import { toZip } from "./package/package-zip.ts";
import { receivePackage } from "./package/receive-package.ts";
import { listNewestPackages, matchResources, type Resource } from "./package/resources.ts";
import { planBlobRemoval } from "./plan-blob-removal.ts";
import { BlobNotFound, type BlobStore, BlobTooLarge, InvalidBlobName } from "./blob-store.ts";

const space = "0190aaaa-0000-7000-8000-000000000001";
const otherSpace = "0190aaaa-0000-7000-8000-000000000002";
const maxBytes = 10_000_000;
let directory: string;
let store: BlobStore;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cupola-blobs-"));
  store = await createDirectoryStore(join(directory, "blobs"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

interface Item {
  path: string;
  body?: string | Buffer;
  mode?: number;
}

/** A zip of the items; a path that yazl would refuse is written under a name of the same length and patched in. */
async function zipOf(items: readonly Item[]): Promise<Buffer> {
  const zip = new ZipFile();
  const patches: [string, string][] = [];
  for (const { path, body, mode } of items) {
    const odd = path.startsWith("/") || path.split("/").includes("..");
    const name = odd ? path.replaceAll(/[/.]/g, "_") : path;
    if (odd) patches.push([name, path]);
    if (path.endsWith("/")) zip.addEmptyDirectory(path, mode ? { mode } : {});
    else zip.addBuffer(Buffer.from(body ?? ""), name, mode ? { mode } : {});
  }
  zip.end();
  let bytes = (await buffer(zip.outputStream as Readable)).toString("latin1");
  for (const [name, path] of patches) bytes = bytes.replaceAll(name, path);
  return Buffer.from(bytes, "latin1");
}

const receive = (zip: Buffer, more: object = {}) =>
  receivePackage(store, { space, bits: Readable.from([zip]), maxBytes, scratch: directory, ...more });
const matchIn = async (from: string, resources: readonly Resource[]) =>
  matchResources(store, await listNewestPackages(store, from), resources);
const sha1 = (body: string): string => createHash("sha1").update(body).digest("hex");

async function unpacked(digest: string): Promise<string> {
  const target = join(directory, `out-${digest.slice(-8)}`);
  await mkdir(target);
  await unpackTar(await store.open(space, digest), target, { maxBytes, symlinks: "inside" });
  return target;
}

test("a package comes back as it was sent: content, modes, links, empty files and directories", async () => {
  const { digest, size } = await receive(
    await zipOf([
      { path: "bin/run.sh", body: "#!/bin/sh\n", mode: 0o100755 },
      { path: "a.txt", body: "a".repeat(100_000) },
      { path: "empty.txt", body: "" },
      { path: "logs/" },
      { path: "current", body: "bin/run.sh", mode: 0o120777 },
    ]),
  );
  expect(size).toBeGreaterThan(0);
  const root = await unpacked(digest);
  expect((await readFile(join(root, "a.txt"), "utf8")).length).toBe(100_000);
  expect((await stat(join(root, "empty.txt"))).size).toBe(0);
  expect((await stat(join(root, "bin/run.sh"))).mode & 0o777).toBe(0o755);
  expect(await readlink(join(root, "current"))).toBe("bin/run.sh");
  expect((await stat(join(root, "logs"))).isDirectory()).toBe(true);
  expect((await readdir(directory)).filter((name) => name.startsWith("cupola-upload-"))).toEqual([]);
});

test("a file with a wrong checksum is refused, and nothing is stored", async () => {
  const zip = await zipOf([{ path: "a.txt", body: "a".repeat(100_000) }]);
  zip.writeUInt32LE(1, zip.indexOf("PK\x01\x02", 0, "latin1") + 16);
  await expect(receive(zip)).rejects.toMatchObject({
    name: "ArchiveRejected",
    message: /"a.txt" has a wrong checksum/,
  });
  expect(await store.list({})).toEqual([]);
  expect(await readdir(join(directory, "blobs", ".incoming"))).toEqual([]);
});

test("the same files in another order give the same digest", async () => {
  const one = await receive(
    await zipOf([
      { path: "a", body: "1" },
      { path: "b", body: "2" },
    ]),
  );
  const two = await receive(
    await zipOf([
      { path: "b", body: "2" },
      { path: "a", body: "1" },
    ]),
  );
  expect(two.digest).toBe(one.digest);
  expect(await store.list({ space })).toHaveLength(1);
});

test.each<[string, Item[], RegExp]>([
  ["..", [{ path: "../evil", body: "x" }], /"\.\.\/evil" leads out/],
  [".. inside", [{ path: "a/../../evil", body: "x" }], /leads out/],
  ["an absolute path", [{ path: "/etc/passwd", body: "x" }], /absolute/],
  [
    "a symlink to an absolute path",
    [
      { path: "a", body: "x" },
      { path: "link", body: "/etc/passwd", mode: 0o120777 },
    ],
    /symlink "link" -> "\/etc\/passwd" leads out/,
  ],
  [
    "a symlink out of the root",
    [
      { path: "d/link", body: "../../x", mode: 0o120777 },
      { path: "a", body: "x" },
    ],
    /leads out/,
  ],
  [
    "a symlink out by way of another",
    [
      { path: "b", body: ".", mode: 0o120777 },
      { path: "c", body: "b/../x", mode: 0o120777 },
      { path: "a", body: "x" },
    ],
    /leads out/,
  ],
  [
    "symlinks in a circle",
    [
      { path: "b", body: "c", mode: 0o120777 },
      { path: "c", body: "b", mode: 0o120777 },
      { path: "a", body: "x" },
    ],
    /leads out/,
  ],
  [
    "a file below a symlink",
    [
      { path: "d", body: "e", mode: 0o120777 },
      { path: "d/f", body: "x" },
    ],
    /below "d", which is a symlink/,
  ],
  [
    "a path twice",
    [
      { path: "a", body: "1" },
      { path: "./a", body: "2" },
    ],
    /"a" is there twice/,
  ],
  ["a device", [{ path: "dev", body: "", mode: 0o020644 }], /neither a file/],
  ["nothing", [{ path: "d/" }], /no files/],
])("refused with its reason: %s", async (_name, items, reason) => {
  await expect(receive(await zipOf(items))).rejects.toThrow(
    expect.objectContaining({ name: "ArchiveRejected", message: expect.stringMatching(reason) }),
  );
  expect(await store.list()).toEqual([]);
});

test("bombs are refused before anything is unpacked", async () => {
  const limits = { maxEntries: 3, maxUnpackedBytes: 1_000_000, maxRatio: 100, ratioFrom: 100_000 };
  await expect(receive(await zipOf([{ path: "a", body: Buffer.alloc(500_000) }]), { limits })).rejects.toThrow(
    /zip bomb/,
  );
  await expect(receive(await zipOf([{ path: "a", body: Buffer.alloc(2_000_000) }]), { limits })).rejects.toThrow(
    /unpacks to 2000000 bytes/,
  );
  await expect(receive(await zipOf(["a", "b", "c", "d"].map((path) => ({ path }))), { limits })).rejects.toThrow(
    /4 entries/,
  );
  await expect(receive(Buffer.from("no zip at all"))).rejects.toThrow(
    expect.objectContaining({ name: "ArchiveRejected" }),
  );
  await expect(receive(await zipOf([{ path: "a", body: "x" }]), { maxBytes: 10 })).rejects.toBeInstanceOf(BlobTooLarge);
});

test("a zip that lies about a size is refused and leaves nothing", async () => {
  const zip = await zipOf([{ path: "aaaa", body: "x".repeat(5000) }]);
  const central = zip.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
  zip.writeUInt32LE(1000, central + 24);
  await expect(receive(zip)).rejects.toThrow(expect.objectContaining({ name: "ArchiveRejected" }));
  expect(await store.list()).toEqual([]);
});

test("known files need not be sent again", async () => {
  const body = "known content";
  await receive(await zipOf([{ path: "lib/known.js", body }]));
  const resource = { path: "other/name.js", mode: "755", sha1: sha1(body), size: body.length };
  expect(await matchIn(space, [resource, { ...resource, size: 1 }, { ...resource, sha1: sha1("?") }])).toEqual([
    resource,
  ]);
  expect(await matchIn(otherSpace, [resource])).toEqual([]);

  const { digest } = await receive(await zipOf([{ path: "new.js", body: "new" }]), { resources: [resource] });
  const root = await unpacked(digest);
  expect(await readFile(join(root, "other/name.js"), "utf8")).toBe(body);
  expect((await stat(join(root, "other/name.js"))).mode & 0o777).toBe(0o755);
  expect(await matchIn(space, [{ path: "x", mode: "644", sha1: sha1("new"), size: 3 }])).toHaveLength(1);

  const only = await receivePackage(store, { space, resources: [resource], maxBytes });
  expect(await readFile(join(await unpacked(only.digest), "other/name.js"), "utf8")).toBe(body);
});

test("a file of another space's package is taken from there when the caller names that package", async () => {
  const body = "theirs";
  const theirs = await receivePackage(store, {
    space: otherSpace,
    bits: Readable.from([await zipOf([{ path: "a", body }])]),
    maxBytes,
  });
  const upload = { space, resources: [{ path: "b", mode: "644", sha1: sha1(body), size: body.length }], maxBytes };
  await expect(receivePackage(store, upload)).rejects.toThrow(/not known any more/);
  const sources = [{ space: otherSpace, digest: theirs.digest }];
  const { digest } = await receivePackage(store, { ...upload, sources });
  expect(await readFile(join(await unpacked(digest), "b"), "utf8")).toBe(body);
});

test.each(["", "{", "null", "[]", '{"files":null}'])(
  "a damaged index (%j) matches nothing and fails no upload",
  async (note) => {
    const body = "once";
    const resource = { path: "a", mode: "644", sha1: sha1(body), size: body.length };
    const first = await receive(await zipOf([{ path: "a", body }]));
    await store.writeNote(space, first.digest, note);
    expect(await matchIn(space, [resource])).toEqual([]);
    await receive(await zipOf([{ path: "other", body: "two" }]));
    await expect(receivePackage(store, { space, resources: [resource], maxBytes })).rejects.toThrow(/push again/);
  },
);

test("a package is downloaded as a zip with the same files", async () => {
  const big = "b".repeat(300_000);
  const { digest } = await receive(
    await zipOf([
      { path: "bin/run.sh", body: "#!/bin/sh\n", mode: 0o100755 },
      { path: "big.txt", body: big },
      { path: "empty.txt", body: "" },
      { path: "logs/" },
      { path: "current", body: "bin/run.sh", mode: 0o120777 },
    ]),
  );
  const zip = await buffer(toZip(await store.open(space, digest), maxBytes));
  expect(zip.subarray(0, 4)).toEqual(Buffer.from("PK\u0003\u0004"));
  // Sent again, it is the same package.
  expect((await receive(zip)).digest).toBe(digest);
});

test("a download of a damaged package fails instead of ending early", async () => {
  const blob = await store.put(space, "package", Readable.from([gzipSync(Buffer.alloc(700, 1))]), { maxBytes });
  await expect(buffer(toZip(await store.open(space, blob.digest), maxBytes))).rejects.toThrow();
});

test.each([
  ["unknown content", { path: "a", mode: "644", sha1: sha1("unknown"), size: 7 }, /not known any more/],
  ["a path out of the app", { path: "../a", mode: "644", sha1: sha1("x"), size: 1 }, /leads out/],
  ["a mode nobody can read", { path: "a", mode: "044", sha1: sha1("x"), size: 1 }, /at least 0600/],
])("a resource is refused: %s", async (_name, resource, reason) => {
  await expect(receivePackage(store, { space, resources: [resource], maxBytes })).rejects.toThrow(reason);
});

test("content is found by space and digest, both together", async () => {
  const blob = await store.put(space, "droplet", Readable.from([Buffer.from("abc")]), { maxBytes });
  expect(blob).toEqual({ digest: `sha256:${createHash("sha256").update("abc").digest("hex")}`, size: 3 });
  expect(await text(await store.open(space, blob.digest))).toBe("abc");
  await expect(store.open(otherSpace, blob.digest)).rejects.toBeInstanceOf(BlobNotFound);
  await expect(store.open("../x", blob.digest)).rejects.toBeInstanceOf(InvalidBlobName);
  await expect(store.has(space, "sha256:../../etc/passwd")).rejects.toBeInstanceOf(InvalidBlobName);
  await store.writeNote(space, blob.digest, "note");
  expect(await store.findNote(space, blob.digest)).toBe("note");
  await store.remove(space, blob.digest);
  expect(await store.find(space, blob.digest)).toBeUndefined();
  expect(await readdir(join(directory, "blobs", space, "droplet"))).toEqual([]);
});

test("a failed put leaves nothing behind", async () => {
  const failing = Readable.from(
    (async function* () {
      yield Buffer.from("half");
      throw new Error("the client went away");
    })(),
  );
  await expect(store.put(space, "package", failing, { maxBytes })).rejects.toThrow("went away");
  expect(await readdir(join(directory, "blobs", ".incoming"))).toEqual([]);
});

test("unpacking never writes through a symlink and refuses special files", async () => {
  const outside = join(directory, "outside");
  await mkdir(outside);
  const tarOf = (...entries: [Parameters<ReturnType<typeof pack>["entry"]>[0], string?][]): Readable => {
    const tar = pack();
    for (const [header, body] of entries) tar.entry(header, body ?? "");
    tar.finalize();
    return Readable.from(tar);
  };
  const gz = async (tar: Readable): Promise<Readable> => Readable.from([gzipSync(await buffer(tar))]);
  const attack = await gz(
    tarOf([{ name: "d", type: "symlink", linkname: outside }], [{ name: "d/f", type: "file" }, "evil"]),
  );
  const target = join(directory, "target");
  await mkdir(target);
  await unpackTar(attack, target, { maxBytes, symlinks: "any" }).catch(() => undefined);
  expect(await readdir(outside)).toEqual([]);
  for (const type of ["link", "character-device", "fifo"] as const) {
    const empty = await mkdtemp(join(directory, "t-"));
    await expect(
      unpackTar(await gz(tarOf([{ name: "x", type, linkname: "/etc/passwd" }])), empty, { maxBytes, symlinks: "any" }),
    ).rejects.toThrow(/only files, directories and symlinks/);
  }
});

test("a packed directory is unpacked the same, and packs to the same bytes", async () => {
  const source = join(directory, "source");
  await mkdir(join(source, "app/deep"), { recursive: true });
  await writeFile(join(source, "app/deep/x"), "x");
  await chmod(join(source, "app/deep/x"), 0o750);
  await symlink("/usr/bin/env", join(source, "app/env"));
  const packedOnce = await buffer(packDirectory(source, ["app"]));
  expect((await buffer(packDirectory(source, ["app"]))).equals(packedOnce)).toBe(true);
  const target = join(directory, "target");
  await mkdir(target);
  await unpackTar(Readable.from([packedOnce]), target, { maxBytes, symlinks: "any" });
  expect((await stat(join(target, "app/deep/x"))).mode & 0o777).toBe(0o750);
  expect(await readlink(join(target, "app/env"))).toBe("/usr/bin/env");
});

test("only old blobs without references are removed", () => {
  const hour = 3_600_000;
  const now = 100 * hour;
  const blob = (digest: string, age: number, kind: "package" | "cache" = "package") => ({
    space,
    kind,
    digest,
    size: 1,
    modified: now - age * hour,
  });
  const blobs = [blob("old", 25), blob("young", 23), blob("needed", 99), blob("cache", 99, "cache")];
  expect(planBlobRemoval({ blobs, references: [{ space, digest: "needed" }], now }).map((row) => row.digest)).toEqual([
    "old",
  ]);
  expect(
    planBlobRemoval({ blobs, references: [{ space: otherSpace, digest: "needed" }], now }).map((row) => row.digest),
  ).toEqual(["old", "needed"]);
});

test("a store recreates its removed folder", async () => {
  await rm(join(directory, "blobs"), { recursive: true });
  const blob = await receive(await zipOf([{ path: "a", body: "one" }]));
  expect(await store.has(space, blob.digest)).toBe(true);
});

test.skipIf(whyNoSmallDisk())(
  "a full disk fails an upload with an error that says so, and leaves nothing",
  async () => {
    const disk = mountSmallDisk(4);
    try {
      const small = await createDirectoryStore(join(disk.dir, "blobs"));
      disk.fill();
      const put = small.put(space, "package", Readable.from([Buffer.alloc(1_000_000)]), { maxBytes });
      await expect(put).rejects.toSatisfy(isDiskFull);
      disk.free();
      expect(await small.list()).toEqual([]);
      expect(await readdir(join(disk.dir, "blobs", ".incoming"))).toEqual([]);
    } finally {
      disk.unmount();
    }
  },
);
