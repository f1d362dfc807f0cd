// Environment files of layers: each suffix, and the order of application.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addLayers, parseFileName } from "./layer-environment.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cupola-env-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }
}

test.each<[string, Record<string, string>, Record<string, string>, Record<string, string>]>([
  ["no suffix overrides", { "l/env/A": "new" }, { A: "old" }, { A: "new" }],
  ["override", { "l/env/A.override": "new" }, { A: "old" }, { A: "new" }],
  ["default keeps a value that is set", { "l/env/A.default": "new" }, { A: "old" }, { A: "old" }],
  ["default replaces an empty value", { "l/env/A.default": "new" }, { A: "" }, { A: "new" }],
  ["append without delimiter", { "l/env/A.append": "2" }, { A: "1" }, { A: "12" }],
  ["append with one", { "l/env/A.append": "2", "l/env/A.delim": ":" }, { A: "1" }, { A: "1:2" }],
  ["the delimiter stands only between values", { "l/env/A.append": "2", "l/env/A.delim": ":" }, {}, { A: "2" }],
  ["prepend", { "l/env/A.prepend": "0", "l/env/A.delim": "," }, { A: "1" }, { A: "0,1" }],
  ["content is verbatim", { "l/env/A": "$HOME\n" }, {}, { A: "$HOME\n" }],
  ["a name that every object inherits", { "l/env/constructor.append": "x" }, {}, { constructor: "x" }],
  ["an unknown suffix has no effect", { "l/env/A.bak": "x" }, {}, {}],
  ["env.launch after env", { "l/env/A": "1", "l/env.launch/A": "2" }, {}, { A: "2" }],
  [
    "env.launch/<process> after both",
    { "l/env/A": "1", "l/env.launch/A": "2", "l/env.launch/web/A": "3" },
    {},
    { A: "3" },
  ],
  ["of defaults env wins", { "l/env/A.default": "1", "l/env.launch/web/A.default": "3" }, {}, { A: "1" }],
  ["another process' files do not count", { "l/env.launch/worker/A": "3" }, {}, {}],
  ["env.build does not apply to launch", { "l/env.build/A": "3" }, {}, {}],
  ["append: layers by name", { "b/env/A.append": "b", "a/env/A.append": "a" }, {}, { A: "ab" }],
  ["prepend: layers by name, the last in front", { "b/env/A.prepend": "b", "a/env/A.prepend": "a" }, {}, { A: "ba" }],
])("%s", async (_name, files, before, after) => {
  await write(files);
  const layers = [...new Set(Object.keys(files).map((path) => join(directory, path.split("/")[0] ?? "")))];
  expect(await addLayers(before, { layers, phase: "launch", process: "web" })).toEqual(after);
});

test("bin and lib of layers are prepended in the order of layer names; include only at build time", async () => {
  await write({ "b/bin/x": "", "a/bin/x": "", "a/lib/x": "", "a/include/x": "" });
  const layers = [join(directory, "b"), join(directory, "a")];
  expect(await addLayers({ PATH: "/bin" }, { layers, phase: "launch" })).toEqual({
    PATH: `${directory}/a/bin:${directory}/b/bin:/bin`,
    LD_LIBRARY_PATH: `${directory}/a/lib`,
  });
  expect(await addLayers({}, { layers, phase: "build" })).toMatchObject({
    CPATH: `${directory}/a/include`,
    LIBRARY_PATH: `${directory}/a/lib`,
  });
});

test("a variable's name ends at the first dot", () => {
  expect(parseFileName("A.B.append")).toBeUndefined();
  expect(parseFileName(".append")).toBeUndefined();
  expect(parseFileName("PATH.prepend")).toEqual({ name: "PATH", action: "prepend" });
});
