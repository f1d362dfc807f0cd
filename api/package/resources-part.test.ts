// The list of files that a client need not send again.
import { expect, test } from "vitest";
import { parseResources } from "./resources-part.ts";

const sha1 = "002d760bea1be268e27077412e11a320d0f164d3";
const file = { path: "a", mode: "644", sha1, size: 3 };

test.each([
  ["as in v3", [{ path: "a", checksum: { value: sha1 }, size_in_bytes: 3 }], [file]],
  ["as in v2", [{ fn: "a", sha1, size: 3 }], [file]],
  ["with marks of JSON in a path", [{ fn: 'a],{"\\', sha1, size: 3 }], [{ ...file, path: 'a],{"\\' }]],
  ["none", [], []],
])("resources %s", async (_what, list, resources) => {
  for (const spaces of [0, 2]) expect(await parseResources(JSON.stringify(list, undefined, spaces))).toEqual(resources);
});

const noJson = "Resources must be valid JSON.";
const noList = "The app package is invalid: resources is no list of files with path, mode, checksum and size";
const entry = JSON.stringify({ fn: "a", sha1, size: 3 });

test.each([
  ["no JSON", noJson],
  ["", noJson],
  ["[", noJson],
  [`[${entry}`, noJson],
  [`[${entry},]`, noJson],
  [`[${entry}] x`, noJson],
  [`[${entry}}]`, noJson],
  ["[,", noJson],
  ["{}", noList],
  ['[{ "path": "a" }]', noList],
  [`["${"x".repeat(100_000)}"]`, noList],
  [`[${"[".repeat(100_000)}`, noList],
  [`[${Array.from({ length: 100_001 }, () => entry).join()}]`, noList],
])("%.40s is refused", async (text, detail) => {
  await expect(parseResources(text)).rejects.toThrow(detail);
});

test("a long list is read with breaks", async () => {
  let turns = 0;
  const ticking = setInterval(() => void turns++, 1);
  const resources = await parseResources(`[${Array.from({ length: 60_000 }, () => entry).join()}]`);
  clearInterval(ticking);
  expect(resources).toHaveLength(60_000);
  expect(turns).toBeGreaterThan(1);
});
