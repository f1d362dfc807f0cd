// Which bytes count as a build's disk.
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { boundCache, measureDisk } from "./build-limits.ts";
import { saveLayers } from "./lifecycle/cache.ts";
import type { Layer } from "./lifecycle/layers.ts";

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

test.each([
  ["no cache", false],
  ["the cache of an earlier build", true],
])("with %s, layers of the droplet that are copied into the cache count once", async (_, hasCache) => {
  if (hasCache) await fill("cache/earlier", 1);
  else await rm(join(home, "cache"), { recursive: true });
  const disk = diskOf(4);
  await mkdir(join(home, "root/venv"));
  await fill("root/venv/file", 3);
  expect(await disk.measure()).toBe(3 * MEBIBYTE);
  const venv: Layer = { name: "venv", launch: true, build: false, cache: true, metadata: {}, present: true };
  await saveLayers(join(home, "cache"), [{ id: "a/b", directory: join(home, "root"), layers: [venv] }]);
  await fill("work/droplet", 1);
  expect(await disk.measure()).toBe(4 * MEBIBYTE);
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

test("a full cache is removed, and the log says so", async () => {
  const log: string[] = [];
  const cache = join(home, "cache");
  const errors: unknown[] = [];
  const bound = (path: string, isCacheFull: boolean): Promise<void> =>
    boundCache(
      { cache: path, diskMB: 2, log: (_, line) => log.push(line), onError: (error) => errors.push(error) },
      isCacheFull,
    );
  await bound(cache, false);
  expect((await stat(cache)).isDirectory()).toBe(true);
  await bound(cache, true);
  await expect(stat(cache)).rejects.toThrow("ENOENT");
  expect(log).toEqual([expect.stringContaining("held more than 2 MB")]);
  expect(errors).toEqual([]);
});

test("a cache that cannot be removed leaves the build's result alone", async () => {
  const errors: unknown[] = [];
  const log: string[] = [];
  const options = {
    cache: "no path\0",
    diskMB: 2,
    log: (_: string, line: string) => log.push(line),
    onError: (error: unknown) => errors.push(error),
  };
  await boundCache(options, true);
  expect(errors).toHaveLength(1);
  expect(log).toEqual([]);
});
