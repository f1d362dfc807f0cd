// A key that is outrun for long: its watch is opened anew, people are told once, and it is not tried ever more seldom.
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
  const standstill = createStaleCacheMonitor({ reopen: recheck, log, now: () => at });
  const outrunAt = (seconds: number, key = "one/a", resource = "things"): string => {
    at = seconds * 1000;
    return standstill.recordStale(key, resource).kind;
  };
  return { standstill, outrunAt, recheck, lines };
}

test("for a moment it is nothing", () => {
  const { standstill, outrunAt, recheck, lines } = begin();
  expect([outrunAt(0), outrunAt(1), outrunAt(4)]).toEqual(["retry", "retry", "retry"]);
  standstill.clear("one/a");
  expect(outrunAt(60)).toBe("retry");
  expect([recheck.mock.calls, lines, standstill.staleKinds]).toEqual([[], [], []]);
});

test("when it lasts the watch is opened anew, now and then, whatever the number of keys", () => {
  const { outrunAt, recheck } = begin();
  for (const seconds of [0, 5, 10, 20, 34, 35, 64, 65])
    for (const key of ["one/a", "one/b"]) expect(outrunAt(seconds, key)).toBe(seconds < 5 ? "retry" : "requeue");
  expect(recheck.mock.calls).toEqual([["things"], ["things"], ["things"]]);
});

test("then people are told, until it gets on", () => {
  const { standstill, outrunAt, lines } = begin();
  for (const seconds of [0, 29, 30, 40]) outrunAt(seconds);
  expect(lines).toMatchObject([{ key: "one/a", resource: "things", seconds: 30 }]);
  expect(standstill.staleKinds).toEqual(["things"]);
  standstill.clear("one/a");
  expect(standstill.staleKinds).toEqual([]);
});
