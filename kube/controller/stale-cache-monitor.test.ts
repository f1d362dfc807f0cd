// A key with a lasting stale cache: its watch is reopened, it is reported once, and its retry delay is bounded.
import pino from "pino";
import { expect, test, vi } from "vitest";
import { createStaleCacheMonitor } from "./stale-cache-monitor.ts";

function begin() {
  let at = 0;
  const lines: { key: string; resource: string; seconds: number }[] = [];
  const log = pino(
    { level: "warn" },
    { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) },
  );
  const recheck = vi.fn();
  const monitor = createStaleCacheMonitor({ reopen: recheck, log, now: () => at });
  const staleAt = (seconds: number, key = "one/a", resource = "things"): string => {
    at = seconds * 1000;
    return monitor.recordStale(key, resource).kind;
  };
  return { monitor, staleAt, recheck, lines };
}

test("a short lag has no effect", () => {
  const { monitor, staleAt, recheck, lines } = begin();
  expect([staleAt(0), staleAt(1), staleAt(4)]).toEqual(["retry", "retry", "retry"]);
  monitor.clear("one/a");
  expect(staleAt(60)).toBe("retry");
  expect([recheck.mock.calls, lines, monitor.staleKinds]).toEqual([[], [], []]);
});

test("a longer lag reopens the watch at intervals, whatever the number of keys", () => {
  const { staleAt, recheck } = begin();
  for (const seconds of [0, 5, 10, 20, 34, 35, 64, 65])
    for (const key of ["one/a", "one/b"]) expect(staleAt(seconds, key)).toBe(seconds < 5 ? "retry" : "requeue");
  expect(recheck.mock.calls).toEqual([["things"], ["things"], ["things"]]);
});

test("a lasting lag is reported until the key succeeds", () => {
  const { monitor, staleAt, lines } = begin();
  for (const seconds of [0, 29, 30, 40]) staleAt(seconds);
  expect(lines).toMatchObject([{ key: "one/a", resource: "things", seconds: 30 }]);
  expect(monitor.staleKinds).toEqual(["things"]);
  monitor.clear("one/a");
  expect(monitor.staleKinds).toEqual([]);
});
