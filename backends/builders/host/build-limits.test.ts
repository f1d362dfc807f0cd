// Which bytes count as a build's disk.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { measureDisk } from "./build-limits.ts";

const MEBIBYTE = 2 ** 20;
let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "cupola-limits-"));
  for (const name of ["root", "work", "cache"]) await mkdir(join(home, name));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const fill = (path: string, size: number): Promise<void> => writeFile(join(home, path), Buffer.alloc(size * MEBIBYTE));
const diskOf = (diskMB: number): ReturnType<typeof measureDisk> =>
  measureDisk({ directories: [join(home, "root"), join(home, "work")], cache: join(home, "cache"), diskMB });

test("the build's folders count whole, and the cache of earlier builds by its growth", async () => {
  const disk = diskOf(4);
  await fill("cache/earlier", 3);
  await fill("root/app", 1);
  expect(await disk.measure()).toBe(1 * MEBIBYTE);
  await fill("cache/new", 1);
  await fill("work/tmp", 1);
  expect(await disk.measure()).toBe(3 * MEBIBYTE);
});

test("a cache that got smaller frees nothing for the build", async () => {
  const disk = diskOf(4);
  await fill("cache/earlier", 2);
  await disk.measure();
  await rm(join(home, "cache"), { recursive: true });
  await fill("root/app", 1);
  expect(await disk.measure()).toBe(1 * MEBIBYTE);
});

test("a cache is full once it holds more than a build may write", async () => {
  const disk = diskOf(2);
  await fill("cache/one", 2);
  await disk.measure();
  expect(disk.isCacheFull()).toBe(false);
  await fill("cache/two", 1);
  await disk.measure();
  expect(disk.isCacheFull()).toBe(true);
});
