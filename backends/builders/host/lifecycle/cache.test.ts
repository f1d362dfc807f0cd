// Caches that the next build of an app gets back.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "smol-toml";
import { afterEach, beforeEach, expect, test } from "vitest";
import { restoreLayers, saveLayers } from "./cache.ts";
import type { Layer } from "./layers.ts";

let folder: string;
let cache: string;
let directory: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cupola-cache-"));
  cache = join(folder, "cache");
  directory = join(folder, "layers");
});
afterEach(() => rmSync(folder, { recursive: true }));

const layer = (name: string, more: Partial<Layer> = {}): Layer => ({
  name,
  launch: false,
  build: false,
  cache: true,
  metadata: { key: "1" },
  present: true,
  ...more,
});

function write(name: string): void {
  mkdirSync(join(directory, name), { recursive: true });
  writeFileSync(join(directory, name, "file"), name);
}

const save = (...layers: Layer[]): Promise<void> => saveLayers(cache, [{ id: "a/b", directory, layers }]);

async function restored(name: string): Promise<string | undefined> {
  rmSync(directory, { recursive: true, force: true });
  await restoreLayers(cache, { id: "a/b", directory });
  const file = join(directory, name, "file");
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

test("what builds get is a copy; with in-place it is the cache itself", async () => {
  const inPlace = { metadata: { key: "1", "in-place": true } };
  write("modules");
  write("downloads");
  await save(layer("modules"), layer("downloads", inPlace));
  expect(existsSync(join(directory, "downloads"))).toBe(false);
  for (const name of ["modules", "downloads"]) expect(await restored(name)).toBe(name);
  // As a build that fails afterwards.
  for (const name of ["modules", "downloads"]) writeFileSync(join(directory, name, "file"), "changed");
  expect(await restored("modules")).toBe("modules");
  expect(await restored("downloads")).toBe("changed");
  await save(layer("modules"), layer("downloads", inPlace));
  expect(await restored("downloads")).toBe("changed");
  expect(await restored("modules")).toBe("modules");
});

test("a layer of the droplet is copied, even with in-place", async () => {
  write("venv");
  await save(layer("venv", { launch: true, metadata: { "in-place": true } }));
  expect(existsSync(join(directory, "venv", "file"))).toBe(true);
  expect(await restored("venv")).toBe("venv");
});

test("a layer that its buildpack left unchanged stays in the cache as it was", async () => {
  const launched = { launch: true };
  write("venv");
  await save(layer("venv", launched));
  expect(await restored("venv")).toBe("venv");
  writeFileSync(join(directory, "venv", "file"), "moved to this build's path");
  await save(layer("venv", { ...launched, metadata: { key: "1", "cupola-unchanged": true } }));
  expect(existsSync(join(directory, "venv", "file"))).toBe(true);
  expect(await restored("venv")).toBe("venv");
  write("other");
  await save(layer("other", { ...launched, metadata: { "cupola-unchanged": true } }));
  expect(await restored("other")).toBe("other");
});

test("a third-party buildpack's own field named unchanged means nothing to the cache", async () => {
  const more = { launch: true, metadata: { unchanged: true } };
  write("venv");
  await save(layer("venv", more));
  expect(await restored("venv")).toBe("venv");
  writeFileSync(join(directory, "venv", "file"), "new");
  await save(layer("venv", more));
  expect(await restored("venv")).toBe("new");
});

test("the next build does not get the mark of an unchanged layer back", async () => {
  write("venv");
  await save(layer("venv", { launch: true, metadata: { key: "1", "cupola-unchanged": true } }));
  await restored("venv");
  expect(parse(readFileSync(join(directory, "venv.toml"), "utf8"))).toEqual({ metadata: { key: "1" } });
});

test("an interruption in the middle leaves no cache rather than a part of one", async () => {
  write("modules");
  await save(layer("modules"));
  await expect(save(layer("modules"), layer("lost"))).rejects.toThrow(/ENOENT/);
  expect(await restored("modules")).toBeUndefined();
});
