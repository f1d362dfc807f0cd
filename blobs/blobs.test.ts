// The contract of stores and packages on the directory store; archives, and what may be removed.
import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile, chmod } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { afterEach, beforeEach, expect, test, onTestFinished } from "vitest";
import { ZipFile } from "yazl";
import { packDirectory, unpackTar } from "./archive/tar.ts";
import { isDiskFull } from "../kube/server/disk-full.ts";
import { mountSmallDisk, whyNoSmallDisk } from "../kube/testing/small-disk.ts";
import { createDirectoryStore } from "./directory/directory-store.ts";
import { processScratch } from "./scratch/scratch-space.ts";
import { receivePackage } from "./package/receive-package.ts";
import { listNewestPackages, matchResources, type Resource } from "./package/resources.ts";
import { planBlobRemoval } from "./plan-blob-removal.ts";
import { packageSuite } from "./testing/package-suite.ts";
import { storeSuite } from "./testing/store-suite.ts";
import { maxBytes, otherSpace, space, type OpenStore } from "./testing/store-under-test.ts";

/** Files that an upload left, of all processes. */
async function halfWritten(folder: string): Promise<string[]> {
  const entries = await readdir(join(folder, ".incoming"), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

const openStore: OpenStore = async (folder) => ({
  store: await createDirectoryStore(folder),
  leftovers: () => halfWritten(folder),
});
storeSuite(openStore);
packageSuite(openStore);

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cupola-blobs-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

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

test("a damaged package is taken over by no other: a push that needs it fails once", async () => {
  const store = await createDirectoryStore(directory);
  const body = randomBytes(2 ** 21);
  const zip = new ZipFile();
  zip.addBuffer(body, "large", { mode: 0o100644 });
  zip.end();
  const scratch = await processScratch.open(space);
  onTestFinished(() => scratch.remove());
  const receive = (resources: Resource[], bits?: Buffer) =>
    receivePackage(store, { space, resources, maxBytes, scratch, ...(bits && { bits: Readable.from([bits]) }) });
  const { digest } = await receive([], await buffer(zip.outputStream as Readable));
  const path = join(directory, space, "package", digest.slice("sha256:".length));
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(0, 2 ** 20, 2 ** 20 + 10));
  const resource = {
    path: "other",
    mode: "644",
    sha1: createHash("sha1").update(body).digest("hex"),
    size: body.length,
  };
  const matched = async (): Promise<unknown> =>
    matchResources(store, await listNewestPackages(store, space), [resource]);
  expect(await matched()).toEqual([resource]);
  await expect(receive([{ ...resource, path: "large" }])).rejects.toThrow(/is damaged; push again/);
  expect(await matched()).toEqual([]);
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
  const store = await createDirectoryStore(join(directory, "blobs"));
  await rm(join(directory, "blobs"), { recursive: true });
  const blob = await store.put(space, "package", Readable.from([Buffer.from("one")]), { maxBytes });
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
      expect(await halfWritten(join(disk.dir, "blobs"))).toEqual([]);
    } finally {
      disk.unmount();
    }
  },
);
