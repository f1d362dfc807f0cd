// Which segments of the usage log are removed.
import { expect, test } from "vitest";
import { makeObject } from "../../crds/testing/objects.ts";
import { listOpenUsage } from "../../crds/usage-log/rules.ts";
import { UsageLog, type AppUsageEvent } from "../../crds/usage-log/usage-log.ts";
import { planCompaction } from "./plan.ts";

const size = { current: 1, previous: 1 };
function event(sequence: number, process: string, state: string): AppUsageEvent {
  const named = { guid: "x", name: "x" };
  return {
    guid: `e${sequence}`,
    sequence,
    at: "2026-01-01T00:00:00Z",
    state: { current: state, previous: "STOPPED" },
    app: named,
    space: named,
    orgGUID: "o",
    process: { guid: process, type: "web" },
    memoryMB: size,
    instances: size,
    packageState: { current: "STAGED", previous: "UNKNOWN" },
  };
}
const segment = (name: string, events: AppUsageEvent[]): UsageLog =>
  makeObject(UsageLog, name, { spec: { writer: "w", events } });
/** Segment `n` of a hundred events about processes of its own; `open` of them still run. */
const hundred = (n: number, open = 0): UsageLog =>
  segment(
    `s${n}`,
    Array.from({ length: 100 }, (_, at) => event(n * 100 + at + 1, `p${n}-${at}`, at < open ? "STARTED" : "STOPPED")),
  );
const namesOf = (segments: readonly UsageLog[]): string[] => segments.map(({ metadata }) => metadata.name).sort();

test("the newest five thousand events are kept", () => {
  const segments = Array.from({ length: 52 }, (_, n) => hundred(n));
  expect(planCompaction(segments.slice(2), listOpenUsage)).toEqual({ remove: [], carry: [] });
  expect(namesOf(planCompaction(segments, listOpenUsage).remove)).toEqual(["s0", "s1"]);
});

test("the last event of what still runs is carried on", () => {
  const segments = [hundred(0, 2), ...Array.from({ length: 50 }, (_, n) => hundred(n + 1))];
  const { remove, carry } = planCompaction(segments, listOpenUsage);
  expect(namesOf(remove)).toEqual(["s0"]);
  expect(carry.map(({ guid }) => guid)).toEqual(["e1", "e2"]);
});

test("an old segment stays while half of it is about what still runs", () => {
  const segments = [hundred(0, 50), ...Array.from({ length: 50 }, (_, n) => hundred(n + 1))];
  expect(planCompaction(segments, listOpenUsage).remove).toEqual([]);
});

test("of many short segments the newest two hundred are kept", () => {
  const segments = Array.from({ length: 203 }, (_, n) => segment(`s${n}`, [event(n + 1, `p${n}`, "STOPPED")]));
  expect(namesOf(planCompaction(segments, listOpenUsage).remove)).toEqual(["s0", "s1", "s2"]);
});
