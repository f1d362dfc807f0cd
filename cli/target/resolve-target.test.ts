// The target of a laptop: a home that was moved, made anew, or started with --home.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readConfig, writeConfig, writeOrgAndSpace } from "./config.ts";
import { noteHome } from "./other-homes.ts";
import { resolveTarget } from "./resolve-target.ts";

const org = { guid: "o", name: "local" };
const space = { guid: "s", name: "dev" };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cupola-target-"));
  vi.stubEnv("CUP_HOME", join(folder, "cup"));
  vi.stubEnv("CUPOLA_HOME", join(folder, "home"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function runIn(home: string, id = "first"): void {
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "running.json"), JSON.stringify({ url: "http://localhost:8080", id, pid: process.pid }));
  writeFileSync(join(home, "kubeconfig"), "");
}

test("org and space are of the home that they were chosen in", () => {
  runIn(join(folder, "home"));
  writeOrgAndSpace({ org, space, home: resolveTarget().home as string });
  expect(resolveTarget()).toMatchObject({ api: "http://localhost:8080", user: "admin", org, space });
  runIn(join(folder, "home"), "second");
  expect(resolveTarget()).not.toHaveProperty("space");
});

test("the kubeconfig of a moved home is found at its new place, one that is there is kept", () => {
  runIn(join(folder, "home"));
  writeConfig({ api: "http://localhost:8080", kubeconfig: join(folder, "old", "kubeconfig") });
  expect(resolveTarget().kubeconfig).toBe(join(folder, "home", "kubeconfig"));
  runIn(join(folder, "old"));
  expect(resolveTarget().kubeconfig).toBe(join(folder, "old", "kubeconfig"));
});

test("an API that was chosen stays, whatever is targeted", () => {
  writeConfig({ api: "https://cf.test", user: "ann", org });
  writeOrgAndSpace({ org: { guid: "p", name: "acme" }, home: "first" });
  expect(readConfig()).toEqual({ api: "https://cf.test", user: "ann", org: { guid: "p", name: "acme" } });
});

test("a Cupola in another home is named with what leads there", () => {
  expect(() => resolveTarget()).toThrow("no Cupola runs on this machine");
  const other = join(folder, "other home");
  runIn(other);
  noteHome(other);
  expect(() => resolveTarget()).toThrow(
    expect.objectContaining({ next: `export CUPOLA_HOME='${other}'`, message: expect.stringContaining(other) }),
  );
});
