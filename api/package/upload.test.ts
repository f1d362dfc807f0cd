// The list of files that a client need not send again.
import { expect, test } from "vitest";
import { toResources } from "./upload.ts";

test("resources may be named as in v2 and as in v3", () => {
  const sha1 = "002d760bea1be268e27077412e11a320d0f164d3";
  const file = { path: "a", mode: "644", sha1, size: 3 };
  expect(toResources(JSON.stringify([{ path: "a", checksum: { value: sha1 }, size_in_bytes: 3 }]))).toEqual([file]);
  expect(toResources(JSON.stringify([{ fn: "a", sha1, size: 3 }]))).toEqual([file]);
});

test.each([
  ["no JSON", "Resources must be valid JSON."],
  ['[{ "path": "a" }]', "The app package is invalid: resources is no list of files with path, mode, checksum and size"],
])("%s is refused", (text, detail) => {
  expect(() => toResources(text)).toThrow(detail);
});
