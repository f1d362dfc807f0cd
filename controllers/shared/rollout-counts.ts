// How many instances each version of a web process has during a rollout. Pure.
import type { RolloutGoal } from "../../crds/rollout/rules.ts";
import { wantedIndexes } from "../../crds/lrp/index-pool.ts";
import type { RunningLRP } from "../../crds/placement-decision/merged-lrps.ts";

/** The instances of one version, as its LRP says. */
export interface VersionInstances {
  /** Number that its spec asks for. */
  instances: number;
  /** Indexes of these, ascending: the last ends first. */
  indexes: readonly number[];
  /** Indexes that take requests. */
  routable: ReadonlySet<number>;
  /** Number of those that crashed or cannot start. */
  failed: number;
}

export function countInstances(lrp: RunningLRP | undefined): VersionInstances {
  const indexes = lrp ? wantedIndexes(lrp.spec) : [];
  const wanted = new Set(indexes);
  const reported = (lrp?.status?.instances ?? []).filter(({ index }) => wanted.has(index));
  return {
    instances: lrp?.spec.instances ?? 0,
    indexes,
    routable: new Set(reported.filter(({ state, ready }) => state === "Running" && ready).map(({ index }) => index)),
    failed: reported.filter(({ state }) => state === "Crashed" || state === "Down").length,
  };
}

/** Whether the version that is to run has all its instances, and each takes requests. */
export function isReached(target: VersionInstances, { limit, maxFailures = 0 }: RolloutGoal): boolean {
  if (limit === 0) return true;
  const { instances, routable } = target;
  return instances >= limit && routable.size > 0 && routable.size + tolerated(target, maxFailures) >= limit;
}

/** Instances that crashed and hold nothing up. */
function tolerated({ failed }: VersionInstances, maxFailures: number): number {
  return Math.min(failed, maxFailures);
}

/**
 * Whether a cancellation has all that it can get: instances of the former version that crash, as they did before, do not hold it up
 * once the others are gone.
 */
export function isRestored(target: VersionInstances, others: readonly VersionInstances[], goal: RolloutGoal): boolean {
  return (
    isReached(target, goal) ||
    (target.instances >= goal.limit &&
      target.routable.size + target.failed >= goal.limit &&
      others.every(({ routable }) => routable.size === 0))
  );
}

/** The next counts of the version that is to run and of the others, which are given in the order in which they shrink. */
export function planCounts(
  target: VersionInstances,
  others: readonly VersionInstances[],
  goal: RolloutGoal,
): { target: number; others: number[] } {
  return { target: planGrowth(target, goal), others: planShrinking(target, others, goal.total) };
}

/** As in CF: nothing more is started while an instance of the new version fails, or while as many start as may. */
function planGrowth(target: VersionInstances, { limit, maxInFlight, maxFailures = 0 }: RolloutGoal): number {
  const has = Math.min(target.instances, limit);
  const settled = target.routable.size + tolerated(target, maxFailures);
  const mayGrow =
    maxInFlight === Infinity || (target.failed <= maxFailures && settled >= target.instances - maxInFlight);
  return mayGrow ? Math.max(has, Math.min(settled + maxInFlight, limit)) : has;
}

/** An instance ends only when the others that take requests are enough without it. */
function planShrinking(target: VersionInstances, others: readonly VersionInstances[], total: number): number[] {
  const keep = Math.max(total - target.routable.size, 0);
  const counts = others.map(({ instances }) => instances);
  let sum = counts.reduce((all, count) => all + count, 0);
  let routable = target.routable.size + others.reduce((all, other) => all + other.routable.size, 0);
  others.forEach((other, at) => {
    for (let count = counts[at] ?? 0; count > 0 && sum > keep; count--) {
      const last = other.indexes[count - 1];
      const takesRequests = last !== undefined && other.routable.has(last);
      if (takesRequests && routable <= total) break;
      if (takesRequests) routable--;
      sum--;
      counts[at] = count - 1;
    }
  });
  return counts;
}
