// A request's warnings as one header.
import { expect, test } from "vitest";
import { createWarnings } from "./warnings.ts";

function headerOf(...texts: string[]): string[] | undefined {
  const warnings = createWarnings();
  for (const text of texts) warnings.add(text);
  return warnings.header()?.split(",").map(decodeURIComponent);
}

test("a request without warnings has no header", () => {
  expect(headerOf()).toBeUndefined();
});

test("each warning is sent once, in order", () => {
  expect(headerOf("b, c", "a", "b, c")).toEqual(["b, c", "a"]);
});

test("a warning that no client could take is left out, and a shorter one is not", () => {
  expect(headerOf("x".repeat(10_000), "short", "half a character: \ud800")).toEqual([
    "short",
    "half a character: \ufffd",
  ]);
});
