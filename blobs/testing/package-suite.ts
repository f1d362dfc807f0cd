// Uploads and downloads of packages on any store: what is kept, what is refused, and that the same bits give the same digest.
import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ZipFile } from "yazl";
import { unpackTar } from "../archive/tar.ts";
import { type BlobStore, BlobTooLarge } from "../blob-store.ts";
import { toZip } from "../package/package-zip.ts";
import { processScratch, type ScratchFolder } from "../scratch/scratch-space.ts";
import { receivePackage } from "../package/receive-package.ts";
import { listNewestPackages, matchResources, type Resource } from "../package/resources.ts";
import { maxBytes, otherSpace, space, type OpenStore } from "./store-under-test.ts";

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
const sha1 = (body: string): string => createHash("sha1").update(body).digest("hex");

/** The contract of packages on a store that `open` makes anew, empty, for each test. */
export function packageSuite(open: OpenStore): void {
  describe("packages", () => packageTests(open));
}

function packageTests(open: OpenStore): void {
  let directory: string;
  let store: BlobStore;
  let leftovers: () => Promise<string[]>;
  let scratch: ScratchFolder;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cupola-packages-"));
    ({ store, leftovers } = await open(join(directory, "blobs")));
    scratch = await processScratch.open("packages");
  });
  afterEach(async () => {
    await scratch.remove();
    await rm(directory, { recursive: true, force: true });
  });

  const receive = (zip: Buffer, more: object = {}) =>
    receivePackage(store, { space, bits: Readable.from([zip]), maxBytes, scratch, ...more });
  const matchIn = async (from: string, resources: readonly Resource[]) =>
    matchResources(store, await listNewestPackages(store, from), resources);

  async function unpacked(digest: string): Promise<string> {
    const target = join(directory, `out-${digest.slice(-8)}`);
    await mkdir(target);
    await unpackTar(await store.open(space, digest), target, { maxBytes, symlinks: "inside" });
    return target;
  }

  test("a store whose own files are in each other's way fails, and the archive is not blamed", async () => {
    const bits = Readable.from([await zipOf([{ path: "a.txt", body: "a" }])]);
    const fault = Object.assign(new Error("ENOTDIR: not a directory, mkdir"), { code: "ENOTDIR" });
    const put: BlobStore["put"] = async (_space, _kind, content) => {
      await buffer(content);
      throw fault;
    };
    await expect(receivePackage(Object.assign(store, { put }), { space, bits, maxBytes, scratch })).rejects.toBe(fault);
  });

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
    expect(await readdir(scratch.path)).toEqual([]);
  });

  test("a file with a wrong checksum is refused, and nothing is stored", async () => {
    const zip = await zipOf([{ path: "a.txt", body: "a".repeat(100_000) }]);
    zip.writeUInt32LE(1, zip.indexOf("PK\x01\x02", 0, "latin1") + 16);
    await expect(receive(zip)).rejects.toMatchObject({
      name: "ArchiveRejected",
      message: /"a.txt" has a wrong checksum/,
    });
    expect(await store.list({})).toEqual([]);
    expect(await leftovers()).toEqual([]);
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
    await expect(receive(await zipOf([{ path: "a", body: "x" }]), { maxBytes: 10 })).rejects.toBeInstanceOf(
      BlobTooLarge,
    );
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

    const only = await receivePackage(store, { space, resources: [resource], maxBytes, scratch });
    expect(await readFile(join(await unpacked(only.digest), "other/name.js"), "utf8")).toBe(body);
  });

  test("known files of one package come in any order, again and again", async () => {
    const bodies = { a: "a".repeat(700_000), b: "b", c: "c".repeat(400_000), d: "d" };
    await receive(await zipOf(Object.entries(bodies).map(([path, body]) => ({ path, body }))));
    const resource = (path: string, body: string) => ({ path, mode: "644", sha1: sha1(body), size: body.length });
    const inOrder = [resource("c", bodies.c), resource("a", bodies.a), resource("e", bodies.d)];
    const second = await receive(await zipOf([{ path: "b", body: "new" }]), { resources: inOrder });
    const turned = [resource("1", bodies.d), resource("2", bodies.a), resource("3", bodies.a)];
    const third = await receivePackage(store, { space, resources: turned, maxBytes, scratch });
    for (const [{ digest }, expected] of [
      [second, { a: bodies.a, b: "new", c: bodies.c, e: bodies.d }],
      [third, { 1: bodies.d, 2: bodies.a, 3: bodies.a }],
    ] as const) {
      const root = await unpacked(digest);
      for (const [path, body] of Object.entries(expected)) expect(await readFile(join(root, path), "utf8")).toBe(body);
    }
  });

  test("a package of known files and new ones is the package of all files that were sent, bit for bit", async () => {
    const random = randomBytes(1_200_000).toString("latin1");
    const items = (changed: string): Item[] => [
      { path: "a-large", body: Buffer.from(random, "latin1"), mode: 0o100644 },
      { path: "b-small", body: "small", mode: 0o100644 },
      { path: "c-empty", body: "", mode: 0o100644 },
      { path: "d-large", body: Buffer.from(`${random}2`, "latin1"), mode: 0o100644 },
      { path: "server.js", body: changed, mode: 0o100644 },
    ];
    const known = (path: string, body: Buffer): Resource => ({
      path,
      mode: "644",
      sha1: createHash("sha1").update(body).digest("hex"),
      size: body.length,
    });
    await receive(await zipOf(items("one")));
    const resources = items("").flatMap(({ path, body }) => (Buffer.isBuffer(body) ? [known(path, body)] : []));
    const sent = items("two").filter(({ body }) => typeof body === "string");
    const second = await receive(await zipOf(sent), { resources });
    expect(await receive(await zipOf(items("two")))).toEqual(second);
    const third = await receive(await zipOf(items("three").slice(1)), { resources: resources.slice(0, 1) });
    expect(await receive(await zipOf(items("three")))).toEqual(third);
  });

  test("a file of another space's package is taken from there when the caller names that package", async () => {
    const body = "theirs";
    const theirs = await receivePackage(store, {
      space: otherSpace,
      bits: Readable.from([await zipOf([{ path: "a", body }])]),
      maxBytes,
      scratch,
    });
    const resources = [{ path: "b", mode: "644", sha1: sha1(body), size: body.length }];
    const upload = { space, resources, maxBytes, scratch };
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
      await expect(receivePackage(store, { space, resources: [resource], maxBytes, scratch })).rejects.toThrow(
        /push again/,
      );
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
    await expect(receivePackage(store, { space, resources: [resource], maxBytes, scratch })).rejects.toThrow(reason);
  });
}
