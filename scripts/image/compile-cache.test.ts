// Node's compile cache for the image: under the path that the Pods of builds name, whatever flags the image's maker has set.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { COMPILE_CACHE_FOLDER } from "../../backends/builders/cnb/plan-pod.ts";
import { listCompileCache } from "./compile-cache.ts";
import type { ImageEntry } from "./image-entries.ts";

afterEach(() => vi.unstubAllEnvs());

const file = (path: string, content: string): ImageEntry => ({
  type: "file",
  path,
  mode: 0o644,
  content: Buffer.from(content),
});
const program = [
  file("/cupola/package.json", '{"type": "module"}'),
  file("/cupola/platform/cupola.ts", "export const one: number = 1;\n"),
];

test("the compile cache is under the folder that builds name, with the key of a Node without flags", async () => {
  vi.stubEnv("NODE_OPTIONS", "--stack-trace-limit=5");
  const flagged = await listCompileCache(program, process.execPath);
  vi.stubEnv("NODE_OPTIONS", undefined);
  const plain = await listCompileCache(program, process.execPath);
  const folders = (entries: ImageEntry[]): string[] =>
    entries.filter(({ type }) => type === "directory").map(({ path }) => path);
  expect(plain.some(({ type }) => type === "file")).toBe(true);
  expect(plain.every(({ path }) => path.startsWith(`${COMPILE_CACHE_FOLDER}/`))).toBe(true);
  expect(folders(flagged)).toEqual(folders(plain));
});

test("the compile cache of the same program has the same bytes each time", async () => {
  const contents = async (): Promise<unknown[]> =>
    (await listCompileCache(program, process.execPath)).map((entry) => ({
      ...entry,
      ...("content" in entry && { content: entry.content.toString("base64") }),
    }));
  expect(await contents()).toEqual(await contents());
});

test("fetch-package ends well when it is asked for help, as the image's making does", () => {
  const entry = join(import.meta.dirname, "..", "..", "platform", "cupola.ts");
  const run = spawnSync(process.execPath, [entry, "fetch-package", "--help"], { encoding: "utf8", timeout: 60_000 });
  expect(run).toMatchObject({ status: 0, stderr: "" });
  expect(run.stdout).toContain("--registry");
});
