// When an app has failed to start, and what of its log belongs to its last run.
import { expect, test } from "vitest";
import type { LogLine } from "./log-stream.ts";
import { isDead, lastRun, readLastRun } from "./wait-running.ts";

const line = (source: string, message: string): LogLine => ({ timestamp: 0n, source, type: "OUT", message });
const app = (message: string): LogLine => line("APP/PROC/WEB/0", message);

test("the lines before the last exit, without those of earlier runs and of the platform", () => {
  const log = [
    line("CELL/0", "Starting instance 1"),
    app("first run"),
    app("Exit status 1"),
    line("CELL/0", "Starting instance 2"),
    app("hello"),
    app("boom at /home/me/.cupola/data/droplets/01a20326-32e0-728e-8596-fbe5bc299744/app/server.js:1"),
    app("    at Module.load (node:internal/modules/cjs/loader:1678:32)"),
    app(""),
    app("Node.js v26.10.0"),
    app("Exit status 1"),
    app("third run, which is under way"),
  ];
  expect(lastRun(log)).toEqual([
    "hello",
    "boom at /home/me/.cupola/data/droplets/01a20326-32e0-728e-8596-fbe5bc299744/app/server.js:1",
  ]);
});

test("lines that come later than the crash are waited for, and the wait ends", async () => {
  const reads = [[], [app("boom")], [app("boom"), app("Exit status 1")]];
  expect(await readLastRun(async () => reads.shift() ?? [])).toEqual(["boom"]);
  expect(reads).toEqual([]);
  expect(await readLastRun(async () => [app("no end")], 0)).toEqual(["no end"]);
  expect(await readLastRun(() => Promise.reject(new Error("no log")))).toEqual([]);
});

test("a run that has not ended", () => {
  expect(lastRun([line("STG/0", "building"), app("hello")])).toEqual(["hello"]);
});

test.each([
  ["CRASHED", "APP/PROC/WEB: Exited with status 1", true],
  ["STARTING", "Instance never healthy after 60s: port 8080: connection refused; listen", true],
  ["STARTING", "Instance not healthy yet: port 8080: connection refused; listen", false],
  ["STARTING", null, false],
  ["RUNNING", null, false],
])("an instance that is %s with %s has ended: %s", (state, details, ended) => {
  const process = { guid: "p", name: "", type: "web", instances: 1, memory_in_mb: 64, disk_in_mb: 64 };
  expect(isDead({ process, instances: [{ index: 0, state, details }] })).toBe(ended);
});
