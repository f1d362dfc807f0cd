// Which usage events follow from what runs now and what was recorded last.
import { describe, expect, test } from "vitest";
import {
  listOpenUsage,
  planBuildUsage,
  planProcessUsage,
  planTaskUsage,
  seedUsage,
  sortUsage,
  toUsageEvent,
  type BuildUsage,
  type ProcessUsage,
  type TaskUsage,
  type UsageDraft,
} from "./rules.ts";
import { UsageLog, type AppUsageEvent } from "./usage-log.ts";

const place = { app: { guid: "A", name: "shop" }, space: { guid: "S", name: "dev" }, orgGUID: "O" };
const process: ProcessUsage = {
  ...place,
  process: { guid: "P", type: "web" },
  isStarted: true,
  instances: 2,
  memoryMB: 256,
  packageState: "STAGED",
};
const task: TaskUsage = { ...place, task: { guid: "T", name: "migrate" }, memoryMB: 64, phase: "running" };
const build: BuildUsage = { ...place, build: { guid: "B" }, memoryMB: 1024, phase: "staging" };
let sequence = 0;
const record = (draft: UsageDraft | undefined, open?: AppUsageEvent): AppUsageEvent => {
  if (!draft) throw new Error("nothing to record");
  return toUsageEvent(draft, { open, version: "1", sequence: ++sequence, now: new Date(0) });
};
const states = (drafts: readonly UsageDraft[]): string[] =>
  drafts.map(({ state }) => `${state.previous} -> ${state.current}`);

describe("a process", () => {
  const started = record(planProcessUsage(undefined, process)[0]);

  type Expected = [states: string[], sizes: number[]];
  test.each<[string, AppUsageEvent | undefined, Partial<ProcessUsage> | undefined, Expected]>([
    ["starts", undefined, {}, [["STOPPED -> STARTED"], [2, 2, 256, 256]]],
    ["runs on", started, {}, [[], []]],
    ["gets instances", started, { instances: 5 }, [["STARTED -> STARTED"], [5, 2, 256, 256]]],
    ["gets memory", started, { memoryMB: 512 }, [["STARTED -> STARTED"], [2, 2, 512, 256]]],
    ["stops", started, { isStarted: false }, [["STARTED -> STOPPED"], [2, 2, 256, 256]]],
    ["is deleted", started, undefined, [["STARTED -> STOPPED"], [2, 2, 256, 256]]],
    ["stays stopped", undefined, { isStarted: false, instances: 9 }, [[], []]],
    ["was never started", undefined, undefined, [[], []]],
  ])("that %s", (_what, open, change, [expected, sizes]) => {
    const drafts = planProcessUsage(open, change && { ...process, ...change });
    expect(states(drafts)).toEqual(expected);
    expect(
      drafts.flatMap((one) => [
        one.instances.current,
        one.instances.previous,
        one.memoryMB.current,
        one.memoryMB.previous,
      ]),
    ).toEqual(sizes);
  });
});

test.each<[string, "open" | undefined, Partial<TaskUsage> | undefined, string[]]>([
  ["waits", undefined, { phase: "waiting" }, []],
  ["runs", undefined, {}, ["PENDING -> TASK_STARTED"]],
  ["runs on", "open", {}, []],
  ["ends", "open", { phase: "ended" }, ["RUNNING -> TASK_STOPPED"]],
  ["ended between two looks", undefined, { phase: "ended" }, ["PENDING -> TASK_STARTED", "RUNNING -> TASK_STOPPED"]],
  ["is deleted while it runs", "open", undefined, ["RUNNING -> TASK_STOPPED"]],
  ["is deleted before it runs", undefined, undefined, []],
])("a task that %s", (_what, known, change, expected) => {
  const open = known && record(planTaskUsage(undefined, task)[0]);
  expect(states(planTaskUsage(open, change && { ...task, ...change }))).toEqual(expected);
});

test.each<[string, "open" | undefined, Partial<BuildUsage> | undefined, string[]]>([
  ["begins", undefined, {}, ["STAGING -> STAGING_STARTED"]],
  ["goes on", "open", {}, []],
  ["succeeds", "open", { phase: "staged" }, ["STAGING -> STAGING_STOPPED", "STAGED -> BUILDPACK_SET"]],
  ["fails", "open", { phase: "failed" }, ["STAGING -> STAGING_STOPPED"]],
  ["is deleted", "open", undefined, ["STAGING -> STAGING_STOPPED"]],
])("a build that %s", (_what, known, change, expected) => {
  const open = known && record(planBuildUsage(undefined, build)[0]);
  expect(states(planBuildUsage(open, change && { ...build, ...change }))).toEqual(expected);
});

test("what runs is what was started last", () => {
  const start = record(planProcessUsage(undefined, process)[0]);
  const stop = record(planProcessUsage(start, undefined)[0], start);
  const again = record(planProcessUsage(undefined, { ...process, instances: 3 })[0]);
  const run = record(planTaskUsage(undefined, task)[0]);
  expect([...listOpenUsage([start, stop]).keys()]).toEqual([]);
  expect(listOpenUsage([again, run, stop, start]).get("process P")?.instances.current).toBe(3);
  expect([...listOpenUsage([start, stop, again, run]).keys()]).toEqual(["process P", "task T"]);
});

test("two leaders give the same event the same GUID, and a later start another one", () => {
  const [draft] = planProcessUsage(undefined, process);
  if (!draft) throw new Error("no draft");
  const at = { open: undefined, sequence: 1, now: new Date(0) };
  const one = toUsageEvent(draft, { ...at, version: "1" });
  expect(toUsageEvent(draft, { ...at, version: "1", sequence: 7, now: new Date(9) }).guid).toBe(one.guid);
  expect(toUsageEvent(draft, { ...at, version: "3" }).guid).not.toBe(one.guid);
  expect(sortUsage([{ ...one, sequence: 2 }, one]).map((event) => event.sequence)).toEqual([1]);
});

test("a purged log begins with one event for each running process, with its GUID", () => {
  const seeds = seedUsage(
    [process, { ...process, process: { guid: "Q", type: "x" }, isStarted: false }],
    8,
    new Date(),
  );
  expect(seeds.map(({ guid, sequence: at, state }) => [guid, at, state])).toEqual([
    ["P", 8, { current: "STARTED", previous: "STARTED" }],
  ]);
  expect(() => UsageLog.spec.parse({ writer: "w", events: seeds })).not.toThrow();
});
