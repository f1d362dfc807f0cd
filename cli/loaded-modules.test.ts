// Modules that `cup` loads before its first request and during a push: each library costs every call some milliseconds.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Prints the files that are loaded, one a line, after it has imported its arguments. */
const LIST = `
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
  for (const file of process.argv.slice(1)) await import(file);
  console.log(loaded.filter((url) => !url.startsWith("node:")).join("\\n"));
`;

function loadedBy(...files: string[]): { libraries: string[]; count: number } {
  const paths = files.map((file) => join(import.meta.dirname, file));
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", LIST, ...paths], {
    encoding: "utf8",
    timeout: 60_000,
  });
  const loaded = output.trim().split("\n");
  const libraries = loaded.flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  return { libraries: [...new Set(libraries)].sort(), count: loaded.length };
}

test("the first request needs the command line and the kubeconfig", () => {
  const { libraries, count } = loadedBy("program.ts", "context.ts");
  expect(libraries).toEqual(["commander", "picocolors", "yaml"]);
  expect(count).toBeLessThan(120);
});

test("a platform that nobody scrapes or traces loads no library for it", () => {
  const { libraries } = loadedBy("../local/start.ts", "../platform/platform.ts");
  expect(libraries).toContain("express");
  expect(libraries.filter((name) => /prom-client|opentelemetry/.test(name))).toEqual([]);
}, 60_000);

test("a push needs what packs, and nothing of the platform", () => {
  const { libraries, count } = loadedBy("program.ts", "context.ts", "push/push.ts", "push/check-toolchain.ts");
  expect(libraries).toEqual([
    "buffer-crc32",
    "commander",
    "ignore",
    "p-limit",
    "picocolors",
    "yaml",
    "yazl",
    "yocto-queue",
  ]);
  expect(count).toBeLessThan(160);
});
