// Which files `cup dev` takes for changed.
import { expect, test } from "vitest";
import { changedFiles } from "./dev.ts";
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
