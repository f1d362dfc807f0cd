// Where `cup` keeps its target.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readConfig, writeConfig } from "./config.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "config-"));
  for (const name of ["CUP_HOME", "CUPOLA_HOME"]) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true });
});

test.each<[string, Record<string, string>, string]>([
  ["CUPOLA_HOME", { CUPOLA_HOME: "cupola" }, "cupola/cup/config.json"],
  ["CUP_HOME", { CUP_HOME: "mine", CUPOLA_HOME: "cupola" }, "mine/config.json"],
  ["the home directory", { HOME: "" }, ".cup/config.json"],
])("in %s", (_what, env, file) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, join(dir, value));
  expect(readConfig()).toEqual({});
  writeConfig({ api: "http://localhost" });
  expect(existsSync(join(dir, file))).toBe(true);
  expect(readConfig()).toEqual({ api: "http://localhost" });
});
