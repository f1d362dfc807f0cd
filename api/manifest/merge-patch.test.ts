// Which merge patches change an object.
import { expect, test } from "vitest";
import { differs } from "./merge-patch.ts";

test.each<[string, object, object, boolean]>([
  ["nothing", {}, { a: 1 }, false],
  ["the same", { a: 1, b: { c: "x" } }, { a: 1, b: { c: "x", d: 2 } }, false],
  ["another value", { b: { c: "y" } }, { b: { c: "x" } }, true],
  ["a new key", { b: { c: "y" } }, {}, true],
  ["a removal", { a: null }, { a: 1 }, true],
  ["the removal of nothing", { a: null }, {}, false],
  ["the same list", { a: ["x"] }, { a: ["x"] }, false],
  ["an empty list", { a: [] }, { a: ["x"] }, true],
  ["a shorter list", { a: ["x"] }, { a: ["x", "y"] }, true],
])("%s", (_what, patch, current, expected) =>
  expect(differs(patch as Record<string, unknown>, current as Record<string, unknown>)).toBe(expected),
);
