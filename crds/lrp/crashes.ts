// How often an instance has crashed between two of its statuses, for audit events and for metrics. Pure.
import type { LrpInstance } from "./lrp.ts";

type Counted = Pick<LrpInstance, "crashCount">;

/** An instance that was not shown before begins at no crash. A lower count is one that began anew: all of it is since. */
export function crashesSince(was: Counted | undefined, instance: Counted): number {
  const [before, count] = [was?.crashCount ?? 0, instance.crashCount ?? 0];
  return count < before ? count : count - before;
}
