// Equal content is stored once for all spaces, and still belongs to each of them alone.
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Blob, type BlobKind, BlobNotFound, type BlobStore } from "../blob-store.ts";
import { createDirectoryStore } from "./directory-store.ts";

let root: string;
let store: BlobStore;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "cupola-store-"));
  store = await createDirectoryStore(root);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const put = (space: string, kind: BlobKind = "package"): Promise<Blob> =>
  store.put(space, kind, Readable.from([Buffer.from("content")]), { maxBytes: 1000 });
const fileOf = async (space: string, kind: BlobKind, { digest }: Blob) =>
  stat(join(root, space, kind, digest.replace("sha256:", "")));

test("spaces and kinds share one file; each has it only after its own upload", async () => {
  const blob = await put("space-1");
  await expect(store.open("space-2", blob.digest)).rejects.toThrow(BlobNotFound);
  await put("space-2");
  await put("space-2", "droplet");
  const files = [
    await fileOf("space-1", "package", blob),
    await fileOf("space-2", "package", blob),
    await fileOf("space-2", "droplet", blob),
  ];
  expect(new Set(files.map(({ ino }) => ino)).size).toBe(1);
  expect(await store.list({ space: "space-2" })).toHaveLength(2);
  expect(await store.list()).toHaveLength(3);
});

test("one space's removal leaves the others' content, the last removes the file", async () => {
  const blob = await put("space-1");
  await put("space-2");
  await store.remove("space-1", blob.digest);
  expect(await store.has("space-1", blob.digest)).toBe(false);
  expect(await text(await store.open("space-2", blob.digest))).toBe("content");
  await store.remove("space-2", blob.digest);
  expect(await readdir(join(root, ".content"))).toEqual([]);
});

/** Half-written files of all processes. */
async function leftovers(folder: string): Promise<string[]> {
  const entries = await readdir(join(folder, ".incoming"), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

test("uploads of equal content at once are one file", async () => {
  const blobs = await Promise.all(["space-1", "space-2", "space-1", "space-3"].map((space) => put(space)));
  for (const space of ["space-1", "space-2", "space-3"])
    expect(await text(await store.open(space, blobs[0]?.digest ?? ""))).toBe("content");
  expect(await leftovers(root)).toEqual([]);
});

test("a content whose note cannot be written is not there", async () => {
  const note = (): string => {
    throw new Error("no note");
  };
  const content = Readable.from([Buffer.from("content")]);
  await expect(store.put("space-1", "package", content, { maxBytes: 1000, note })).rejects.toThrow("no note");
  expect(await store.list()).toEqual([]);
  expect(await leftovers(root)).toEqual([]);
});

test("a content without a space is removed at the next start", async () => {
  const { digest } = await put("space-1");
  await rm(join(root, "space-1"), { recursive: true });
  const again = await createDirectoryStore(root);
  expect(await again.has("space-1", digest)).toBe(false);
  expect(await readdir(join(root, ".content"))).toEqual([]);
});

test("what a killed process left half written goes at the next start, and what a living one writes stays", async () => {
  const [killed, living] = [join(root, ".incoming", "4194305-1"), await mkdtemp(join(root, ".incoming", "x-"))];
  await mkdir(killed);
  for (const folder of [killed, living]) await writeFile(join(folder, "half"), "");
  await createDirectoryStore(root);
  expect(await leftovers(root)).toHaveLength(1);
});

test("what an earlier version left half written, without a folder of its process, goes after a day", async () => {
  const [abandoned, recent] = [join(root, ".incoming", "abandoned"), join(root, ".incoming", "recent")];
  for (const file of [abandoned, recent]) await writeFile(file, "");
  const longAgo = new Date(Date.now() - 25 * 60 * 60 * 1000);
  await utimes(abandoned, longAgo, longAgo);
  await createDirectoryStore(root);
  expect(await leftovers(root)).toEqual(["recent"]);
});

test("a second upload and a touch count as put now", async () => {
  const blob = await put("space-1");
  const path = join(root, "space-1", "package", blob.digest.replace("sha256:", ""));
  for (const renew of [() => put("space-1"), () => store.touch("space-1", blob.digest)]) {
    await utimes(path, new Date(0), new Date(0));
    await renew();
    expect((await store.list())[0]?.modified).toBeGreaterThan(Date.now() - 60_000);
  }
});
