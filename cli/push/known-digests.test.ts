// Which files of a second push need not be read again.
import { cp, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadDigests } from "./known-digests.ts";
import { readSource, type SourceFile } from "./pack-source.ts";

const SHA1 = "a".repeat(40);
const LATER = Date.now() + 60_000;
let dir: string;
let cache: string;
let app: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "known-digests-"));
  cache = join(dir, "cache");
  app = join(dir, "app");
  await mkdir(app);
  await writeFile(join(app, "a"), "one");
});
afterEach(() => rm(dir, { recursive: true }));

async function listed(): Promise<SourceFile> {
  const source = await readSource(app);
  const [file] = "files" in source ? source.files : [];
  if (!file) throw new Error("the file is missing");
  return file;
}

async function remember(now = LATER): Promise<void> {
  const digests = await loadDigests(cache, app);
  digests.add(await listed(), SHA1, now);
  await digests.save();
}

test("an unchanged file is known, to its own folder alone", async () => {
  await remember();
  expect((await loadDigests(cache, app)).find(await listed())).toBe(SHA1);
  expect((await loadDigests(cache, dir)).find(await listed())).toBeUndefined();
});

test.each<[string, () => Promise<unknown>]>([
  ["written", () => writeFile(join(app, "a"), "two")],
  [
    "written, with the time of before set again",
    async () => {
      const { atime, mtime } = await stat(join(app, "a"));
      await writeFile(join(app, "a"), "two");
      await utimes(join(app, "a"), atime, mtime);
    },
  ],
  [
    "replaced by another one as old",
    async () => {
      await cp(join(app, "a"), join(dir, "b"), { preserveTimestamps: true });
      await rm(join(app, "a"));
      await cp(join(dir, "b"), join(app, "a"), { preserveTimestamps: true });
    },
  ],
])("a file that was %s is not", async (_what, change) => {
  await remember();
  const { ctimeMs } = await stat(join(app, "a"));
  // Until the file system's clock has moved on.
  do await change();
  while ((await stat(join(app, "a"))).ctimeMs === ctimeMs);
  expect((await loadDigests(cache, app)).find(await listed())).toBeUndefined();
});

test("a file that changed just before it was read is not: it may change again within the same tick", async () => {
  await remember((await listed()).version?.changedAt);
  expect((await loadDigests(cache, app)).find(await listed())).toBeUndefined();
});

test("a damaged cache knows nothing, and one that cannot be written fails no push", async () => {
  await remember();
  const [name = ""] = await readdir(cache);
  await writeFile(join(cache, name), '{"a": ["1", "no digest"]}');
  expect((await loadDigests(cache, app)).find(await listed())).toBeUndefined();
  await rm(cache, { recursive: true });
  await writeFile(cache, "a file");
  await remember();
});

test("files that are gone leave it, and so do folders that others were pushed after", async () => {
  await remember();
  const digests = await loadDigests(cache, app);
  digests.add({ ...(await listed()), path: "b" }, SHA1, LATER);
  await digests.save();
  expect((await loadDigests(cache, app)).find(await listed())).toBeUndefined();
  for (let nth = 0; nth < 55; nth++) {
    const other = await loadDigests(cache, join(dir, String(nth)));
    other.add(await listed(), SHA1, LATER);
    await other.save();
  }
  expect(await readdir(cache)).toHaveLength(50);
});

test("a push that finds all unchanged counts as the last one", async () => {
  await remember();
  const [name = ""] = await readdir(cache);
  await utimes(join(cache, name), 1, 1);
  const digests = await loadDigests(cache, app);
  expect(digests.find(await listed())).toBe(SHA1);
  await digests.save();
  expect((await stat(join(cache, name))).mtimeMs).toBeGreaterThan(1000);
});
