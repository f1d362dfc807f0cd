// Demand of a process on the quotas, and their grant. Pure.
import type { App } from "../../crds/app/app.ts";
import type { Demand } from "../../crds/org-quota/rules.ts";
import { defaultInstances } from "../../crds/process/defaults.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { goalOf } from "../../crds/rollout/rules.ts";
import { findOpenRollout, findRolloutRevision, findRunningRevision, type AppHistory } from "./rollouts.ts";

const NONE: Demand = { instances: 0, memoryMB: 0, logRateLimitBytesPerSecond: 0 };

/**
 * By the largest of its spec and of the Revisions that it runs, whose sizes last until the next start; during a Rollout with the instances that run beside
 * the old ones. Nothing while the app is stopped.
 */
export function desiredDemand({ spec }: Process, app: App | undefined, history: AppHistory): Demand {
  const instances = isStarted(app) ? (spec.instances ?? defaultInstances(spec.type)) : 0;
  if (!app || instances === 0) return NONE;
  const rollout = spec.type === "web" ? findOpenRollout(history.rollouts) : undefined;
  const revisions = [
    findRunningRevision(app, history),
    rollout && findRolloutRevision(rollout, history.revisions),
  ].flatMap((revision) => revision?.spec.processes.find(({ type }) => type === spec.type) ?? []);
  const sizes = [spec, ...revisions];
  return {
    instances: instances + (rollout ? surgeOf(rollout, instances) : 0),
    memoryMB: Math.max(...sizes.map(({ memoryMB }) => memoryMB)),
    logRateLimitBytesPerSecond: sizes.map((size) => size.logRateLimitBytesPerSecond).reduce(largerRate),
  };
}

/** Instances that a Rollout runs beside those that are wanted, at most. */
export function surgeOf(rollout: Rollout, wanted: number): number {
  const { total, limit } = goalOf(rollout, wanted);
  return Math.max(0, total - wanted) + Math.min(limit, rollout.spec.maxInFlight);
}

function isStarted(app: App | undefined): boolean {
  return app?.spec.state === "Started" && !app.metadata.deletionTimestamp;
}

function largerRate(one: number, other: number): number {
  return one < 0 || other < 0 ? -1 : Math.max(one, other);
}

/** Grant of org and space quotas to a process. */
export type Grant = NonNullable<NonNullable<Process["status"]>["quota"]>;

export function withoutProblem({ problem: _problem, ...demand }: Grant): Demand {
  return demand;
}

/** Is `wanted` no more than `held` in any respect? */
export function covers(held: Demand | undefined, wanted: Demand): boolean {
  if (wanted.instances === 0) return true;
  return (
    held !== undefined &&
    wanted.instances <= held.instances &&
    wanted.memoryMB <= held.memoryMB &&
    coversLogs(held.logRateLimitBytesPerSecond, wanted.logRateLimitBytesPerSecond)
  );
}

function coversLogs(held: number, wanted: number): boolean {
  return held < 0 || (wanted >= 0 && wanted <= held);
}

/** A process whose LRP needs `size` for each instance: how many instances its grant lets it start. */
export function grantedInstances(grant: Grant | undefined, size: Omit<Demand, "instances">): number {
  if (!grant || grant.instances === 0) return 0;
  return covers(withoutProblem(grant), { ...size, instances: grant.instances }) ? grant.instances : 0;
}
