// Lint in two parts: rules that look at one file, over all files and cached; rules that ask the type checker, over changed files or all.
import { bin, cache, runCheck } from "./run-check.ts";
import { NOTHING, type Count } from "./test-counts.ts";

type Outcome = Count & { output?: string };
const ESLINT = ["--max-warnings=0", "--no-warn-ignored"];

/** Every rule, in a minute. */
export function lintAll(): Promise<Outcome> {
  return runCheck([bin("eslint"), ...ESLINT, "."]);
}

/** No rule of it depends on another file, so the cache is exact. */
export function lintWithoutTypes(): Promise<Outcome> {
  const cached = ["--cache", "--cache-location", cache("eslint/")];
  return runCheck([bin("eslint"), ...ESLINT, ...cached, "."], { CUPOLA_LINT: "untyped" });
}

/** Every rule, over these files. */
export function lintFiles(files: readonly string[]): Promise<Outcome> {
  return files.length === 0 ? Promise.resolve(NOTHING) : runCheck([bin("eslint"), ...ESLINT, ...files]);
}
