// Modules of `cupola fetch-package`: every build waits for it, and each library costs some milliseconds.
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

/** Prints the libraries that have been loaded, as its last line. */
const LIST = `
  import { registerHooks } from "node:module";
  const loaded = new Set();
  registerHooks({
    load(url, context, next) {
      const library = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
      if (library) loaded.add(library);
      return next(url, context);
    },
  });
  await import(${JSON.stringify(`${import.meta.dirname}/fetch-package.ts`)});
  console.log(JSON.stringify([...loaded].sort()));
`;

test("fetch-package loads what unpacks and what remembers tokens, and no HTTP client besides Node's", () => {
  const output = execFileSync(
    process.execPath,
    ["--input-type=module", "--eval", LIST, "cupola", "fetch-package", "--help"],
    { encoding: "utf8", timeout: 60_000 },
  );
  const libraries = JSON.parse(output.trim().split("\n").at(-1) ?? "") as unknown;
  expect(libraries).toEqual([
    "b4a",
    "events-universal",
    "fast-fifo",
    "lru-cache",
    "p-limit",
    "streamx",
    "tar-stream",
    "text-decoder",
    "yocto-queue",
  ]);
});
