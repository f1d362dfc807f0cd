// How often an instance has crashed between two of its statuses, for audit events and for metrics. Pure.
import type { LrpInstance } from "./lrp.ts";

type Counted = Pick<LrpInstance, "crashCount">;

/** An instance that was not shown before begins at no crash. A count that a runner began anew says of none. */
export function crashesSince(was: Counted | undefined, instance: Counted): number {
  return Math.max(0, (instance.crashCount ?? 0) - (was?.crashCount ?? 0));
}
