// Files that count as a Procfile.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { readProcfile } from "./buildpacks/procfile/procfile.mjs";

let app: string;
beforeEach(async () => {
  app = await mkdtemp(join(tmpdir(), "cupola-procfile-"));
});
afterEach(() => rm(app, { recursive: true, force: true }));

test.each([
  ["types", "web: node a.js\nworker: node b.js\n", { web: "node a.js", worker: "node b.js" }],
  ["a YAML marker, blanks and comments first", "---\n\n# processes\nweb: node a.js\n", { web: "node a.js" }],
])("%s", async (_what, text, commands) => {
  await writeFile(join(app, "Procfile"), text);

  expect(readProcfile(app)).toEqual(commands);
});

test("a line that is no process is named", async () => {
  await writeFile(join(app, "Procfile"), "web: a\n---\n");

  expect(() => readProcfile(app)).toThrow("line 2");
});
