// When the known files of an upload can be read in one go from an earlier package.
import { expect, test } from "vitest";
import { inOneReading } from "./matched-files.ts";

const one = { space: "s", digest: "sha256:1" };
const two = { space: "s", digest: "sha256:2" };

test.each([
  ["the same paths", { a: [one, "a"], b: [one, "b"] }, one],
  ["other paths in the same order", { x: [one, "a"], y: [one, "b"] }, one],
  ["other paths in another order", { x: [one, "b"], y: [one, "a"] }, undefined],
  ["one content at two paths", { x: [one, "a"], y: [one, "a"] }, undefined],
  ["two packages", { a: [one, "a"], b: [two, "b"] }, undefined],
  ["no file", {}, undefined],
] as const)("%s", (_what, files, expected) => {
  const rows = Object.entries(files) as [string, readonly [typeof one, string]][];
  const wanted = rows.map(([path]) => ({ path, sha1: `of ${path}` })).reverse();
  const known = new Map(rows.map(([path, [source, at]]) => [`of ${path}`, { source, path: at, size: 1 }]));
  expect(inOneReading(wanted, known)).toBe(expected);
});
