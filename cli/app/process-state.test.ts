// An app in a word, and its address.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { labelOf, stateOf, toAddress, type ProcessState } from "./process-state.ts";

const processes = (...states: string[]): ProcessState[] => [
  { process: {} as never, instances: states.map((state, index) => ({ index, state })) },
];

test.each([
  ["running", "STARTED", ["RUNNING", "RUNNING"], false],
  ["starting", "STARTED", ["RUNNING", "STARTING"], false],
  ["crashing", "STARTED", ["RUNNING", "STARTING", "CRASHED"], false],
  ["down", "STARTED", ["STARTING", "DOWN"], false],
  ["stopped", "STOPPED", [], false],
  ["failed", "STOPPED", [], true],
  ["failed", "STARTED", ["DOWN"], true],
] as const)("%s", (expected, state, states, hasFailedBuild) => {
  expect(stateOf({ state }, processes(...states), hasFailedBuild)).toBe(expected);
});

test.each([
  ["a laptop's own domain", "http://localhost:8080", "shop.apps.localhost", "http://shop.apps.localhost:8080"],
  ["a laptop's other domain", "http://localhost:8080", "www.example.test/a", "http://www.example.test:8080/a"],
  ["another laptop-like API", "http://localhost:9090", "shop.apps.localhost", "http://shop.apps.localhost:9090"],
  ["a cluster behind a forwarded port", "http://localhost:9090", "shop.example.test", "https://shop.example.test"],
  ["a cluster", "https://api.cf.test:8443", "shop.example.test/a/b", "https://shop.example.test/a/b"],
])("the address on %s", (_what, api, url, expected) => {
  const home = mkdtempSync(join(tmpdir(), "cup-address-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  writeFileSync(join(home, "running.json"), JSON.stringify({ url: "http://localhost:8080" }));
  vi.stubEnv("CUPOLA_HOME", home);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(toAddress({ base: api })({ guid: "r", name: "", url })).toBe(expected);
});

test("during a rollout the two web processes are told apart", () => {
  const all = ["web", "worker", "web"].map(
    (type, at) => ({ process: { type, guid: String(at) }, instances: [] }) as unknown as ProcessState,
  );
  expect(all.map((one) => labelOf(one, all))).toEqual(["web (old version)", "worker", "web (new version)"]);
  expect(all.slice(0, 2).map((one) => labelOf(one, all.slice(0, 2)))).toEqual(["web", "worker"]);
});
