// Which files `cup dev` takes for changed.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { changedFiles, changesOf, listWhileEdited } from "./dev.ts";
import type { SourceFile } from "./pack-source.ts";

const file = (path: string, size = 1, time = 0): SourceFile => ({
  path,
  absolute: `/app/${path}`,
  mode: 0o644,
  mtime: new Date(time),
  size,
});

test("new, gone, longer and written files, and no other", () => {
  const before = [file("same"), file("gone"), file("longer"), file("touched")];
  const now = [file("same"), file("longer", 2), file("touched", 1, 5), file("new")];
  expect(changedFiles(before, now)).toEqual(["longer", "touched", "new", "gone"]);
  expect(changedFiles(now, now)).toEqual([]);
});

test("a link that leads nowhere, such as an editor's lock, is told and does not end it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cup-dev-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const told = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => told.mockRestore());
  writeFileSync(join(folder, "index.js"), "");
  symlinkSync("me@host.1", join(folder, ".#index.js"));
  expect(await listWhileEdited(folder)).toBeUndefined();
  expect(told).toHaveBeenCalledWith(expect.stringContaining(".#index.js cannot be read"));
  rmSync(join(folder, ".#index.js"));
  expect(await listWhileEdited(folder)).toMatchObject([{ path: "index.js" }]);
});

test("a save from before the watch began is not missed, and later ones are told once a burst", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cup-dev-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  writeFileSync(join(folder, "index.js"), "saved while the first push ran");
  const changes = changesOf(folder, stop.signal);
  expect(await changes.next()).toEqual({ done: false, value: undefined });
  const next = changes.next();
  writeFileSync(join(folder, "index.js"), "saved later");
  writeFileSync(join(folder, "other.js"), "in the same burst");
  expect(await next).toEqual({ done: false, value: undefined });
  const end = changes.next();
  stop.abort();
  expect(await end).toEqual({ done: true, value: undefined });
});
