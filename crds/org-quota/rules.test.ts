// Which limits a process exceeds.
import { expect, test } from "vitest";
import { addDemand, findExcess, limitsProcesses, NO_USAGE, type AppLimits, type Demand, type Excess } from "./rules.ts";

const demand = (instances: number, memoryMB: number, logRateLimitBytesPerSecond = 100): Demand => ({
  instances,
  memoryMB,
  logRateLimitBytesPerSecond,
});

test.each<[string, AppLimits, Demand, Excess[]]>([
  ["nothing without limits", {}, demand(9, 9999, -1), []],
  ["memory up to the limit fits", { totalMemoryMB: 512 }, demand(2, 128), []],
  ["memory above it does not", { totalMemoryMB: 511 }, demand(2, 128), ["memory"]],
  ["instances up to the limit fit", { totalInstances: 3 }, demand(2, 128), []],
  ["instances above it do not", { totalInstances: 2 }, demand(2, 128), ["instances"]],
  ["one instance is too large", { instanceMemoryMB: 127 }, demand(1, 128), ["instanceMemory"]],
  ["log bytes add up", { logRateLimitBytesPerSecond: 299 }, demand(2, 128), ["logRate"]],
  ["no unlimited logs under a limit", { logRateLimitBytesPerSecond: 999 }, demand(1, 128, -1), ["unlimitedLogRate"]],
  ["a limit of 0 is one", { totalInstances: 0, totalMemoryMB: 0 }, demand(1, 1), ["memory", "instances"]],
  ["without instances nothing is exceeded", { totalInstances: 0, instanceMemoryMB: 0 }, demand(0, 128, -1), []],
])("%s", (_what, limits, wanted, excess) => {
  expect(findExcess(limits, addDemand(NO_USAGE, demand(1, 256)), wanted)).toEqual(excess);
});

test("a limit of nothing but routes counts no process", () => {
  expect([limitsProcesses(undefined, {}), limitsProcesses(undefined, { totalInstances: 0 })]).toEqual([false, true]);
});
