// Demand of a process on the quotas of its org and space, and the limits that it would exceed. Pure; the API and controllers/quota share it.
import type { OrgQuota } from "./org-quota.ts";
import type { SpaceQuota } from "../space-quota/space-quota.ts";

/** The limits that hold for processes; those of orgs and spaces are alike. */
export type AppLimits = Pick<
  OrgQuota["spec"] | SpaceQuota["spec"],
  "totalMemoryMB" | "instanceMemoryMB" | "totalInstances" | "logRateLimitBytesPerSecond"
>;

/** The size of one instance, and how many there are. */
export interface Demand {
  instances: number;
  memoryMB: number;
  /** -1 means unlimited. */
  logRateLimitBytesPerSecond: number;
}

/** The sum of what is in use. */
export interface AppUsage {
  instances: number;
  memoryMB: number;
  logRateLimitBytesPerSecond: number;
}

export type Excess = "memory" | "instanceMemory" | "instances" | "logRate" | "unlimitedLogRate";

export const NO_USAGE: AppUsage = { instances: 0, memoryMB: 0, logRateLimitBytesPerSecond: 0 };

export function addDemand(usage: AppUsage, demand: Demand): AppUsage {
  return {
    instances: usage.instances + demand.instances,
    memoryMB: usage.memoryMB + demand.instances * demand.memoryMB,
    logRateLimitBytesPerSecond:
      usage.logRateLimitBytesPerSecond + demand.instances * Math.max(0, demand.logRateLimitBytesPerSecond),
  };
}

/** The memory and log rate of a task; its number counts against a limit of its own. */
export function addTask(usage: AppUsage, task: Omit<Demand, "instances">): AppUsage {
  return { ...addDemand(usage, { ...task, instances: 1 }), instances: usage.instances };
}

/** The limits that `demand` would exceed beside `used`, which is what the others use; in CF's order. */
export function findExcess(limits: AppLimits | undefined, used: AppUsage, demand: Demand): Excess[] {
  if (!limits || demand.instances === 0) return [];
  const after = addDemand(used, demand);
  const exceeds = (value: number, limit: number | undefined): boolean => limit !== undefined && value > limit;
  const logRate = limits.logRateLimitBytesPerSecond;
  const found: [Excess, boolean][] = [
    ["memory", exceeds(after.memoryMB, limits.totalMemoryMB)],
    ["instanceMemory", exceeds(demand.memoryMB, limits.instanceMemoryMB)],
    ["instances", exceeds(after.instances, limits.totalInstances)],
    ["unlimitedLogRate", logRate !== undefined && demand.logRateLimitBytesPerSecond < 0],
    ["logRate", exceeds(after.logRateLimitBytesPerSecond, logRate)],
  ];
  return found.filter(([, isExceeded]) => isExceeded).map(([excess]) => excess);
}

/** Does any of the quotas limit processes? Without one nothing has to be counted. */
export function limitsProcesses(...quotas: readonly (AppLimits | undefined)[]): boolean {
  return quotas.some(
    (quota) =>
      quota?.totalMemoryMB !== undefined ||
      quota?.instanceMemoryMB !== undefined ||
      quota?.totalInstances !== undefined ||
      quota?.logRateLimitBytesPerSecond !== undefined,
  );
}
