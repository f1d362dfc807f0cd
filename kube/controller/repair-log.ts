// Counts how often the children of an owner had to be restored, so that two writers who undo each other's changes are noticed.
import { LRUCache } from "lru-cache";

const HOUR_MS = 3_600_000;
const MAX_OWNERS = 10_000;
/** Nobody asks for more. */
const MAX_TIMES = 100;

export interface RepairLog {
  add(ownerId: string): void;
  /** In the last hour, 100 at most. */
  count(ownerId: string): number;
  /** Since when it counts, in milliseconds of the clock. */
  since: number;
}

/** Owners of which nothing was restored for the longest time are forgotten first. */
export function createRepairLog(now: () => number): RepairLog {
  const times = new LRUCache<string, number[]>({ max: MAX_OWNERS });
  const recent = (ownerId: string): number[] => (times.get(ownerId) ?? []).filter((at) => now() - at < HOUR_MS);
  return {
    add: (ownerId) => void times.set(ownerId, [...recent(ownerId), now()].slice(-MAX_TIMES)),
    count: (ownerId) => recent(ownerId).length,
    since: now(),
  };
}
