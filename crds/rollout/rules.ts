// Rules of Rollouts that API and controllers share: states, steps of a canary, counts of instances. Pure.
import { creationSortKey, deriveGUID, guidOf } from "../guid.ts";
import type { Rollout } from "./rollout.ts";

/** CF's state of a deployment. */
export type RolloutState = "Deploying" | "Prepaused" | "Paused" | "Canceling" | "Deployed" | "Canceled";

const ENDED: ReadonlySet<string> = new Set(["Deployed", "Canceled"]);

/** Whether the status says that it is over. */
export function isEnded({ status }: Rollout): boolean {
  return ENDED.has(status?.state ?? "");
}

/** Newest first. */
export function sortRollouts(rollouts: readonly Rollout[]): Rollout[] {
  return rollouts.toSorted((a, b) => (creationSortKey(a) < creationSortKey(b) ? 1 : -1));
}

/** The state by spec and status, whether or not a newer Rollout exists. */
export function ownState(rollout: Rollout): RolloutState {
  const { spec, status } = rollout;
  if (status?.state === "Deployed" || status?.state === "Canceled") return status.state;
  if (spec.startsApp) return "Deployed";
  if (isFinishing(rollout)) return "Deploying";
  return spec.cancelled ? "Canceling" : progressState(rollout);
}

function progressState(rollout: Rollout): RolloutState {
  if (rollout.spec.paused || isStagePaused(rollout)) return "Paused";
  if (!isBeforeLastStep(rollout)) return "Deploying";
  return (rollout.status?.pausedStep ?? 0) >= currentStep(rollout) ? "Paused" : "Prepaused";
}

/** Whether it has paused after a stage, or halted in one that failed, and nobody has continued since. */
export function isStagePaused({
  spec,
  status,
}: {
  spec: Pick<Rollout["spec"], "continuedStages">;
  status?: { stagePauses?: number | undefined } | undefined;
}): boolean {
  return (status?.stagePauses ?? 0) > (spec.continuedStages ?? 0);
}

/** The spec fields that continue a Rollout that is paused. */
export function continuationOf(
  rollout: Rollout,
): Pick<Partial<Rollout["spec"]>, "paused" | "continuedStages" | "continuedSteps"> {
  const { spec, status } = rollout;
  if (!spec.paused && !isStagePaused(rollout)) return { continuedSteps: currentStep(rollout) };
  return {
    ...(spec.paused && { paused: false }),
    ...(isStagePaused(rollout) && { continuedStages: status?.stagePauses ?? 0 }),
  };
}

/** Whether the new version has become the app's: a cancellation comes too late. */
export function isFinishing({ status }: Rollout): boolean {
  return status?.finalRevision !== undefined && status.finalRevision === status.revision;
}

/** The state as CF shows it: a newer Rollout of the app ends this one. A rolling one then counts as deployed, a canary as canceled. */
export function effectiveState(
  rollout: Rollout,
  newest: Rollout | undefined,
): { state: RolloutState; superseded: boolean } {
  const state = ownState(rollout);
  if (ENDED.has(state)) return { state, superseded: rollout.status?.superseded ?? false };
  if (!newest || newest.metadata.uid === rollout.metadata.uid) return { state, superseded: false };
  return { state: state === "Deploying" ? "Deployed" : "Canceled", superseded: true };
}

/** Number of a canary's steps; 1 without steps. */
export function totalSteps({ spec }: Rollout): number {
  return spec.canarySteps?.length || 1;
}

/** The canary step that is under way or reached, from 1. */
export function currentStep(rollout: Rollout): number {
  return Math.min((rollout.spec.continuedSteps ?? 0) + 1, totalSteps(rollout));
}

function isBeforeLastStep(rollout: Rollout): boolean {
  return rollout.spec.strategy === "canary" && (rollout.spec.continuedSteps ?? 0) < totalSteps(rollout);
}

/** Counts to reach: `total` instances of all versions that take requests, `limit` of them of the new version. */
export interface RolloutGoal {
  total: number;
  limit: number;
  /** Those of `total` that are beside the wanted ones while a canary waits; none when left out. */
  surge?: number;
  /** New instances that may start at once. */
  maxInFlight: number;
  /** Instances of the new version that may crash; none when left out. */
  maxFailures?: number;
}

/** `wanted`: number of instances in the web Process's spec. */
export function goalOf(rollout: Rollout, wanted: number): RolloutGoal {
  const { maxInFlight, instances = wanted } = rollout.spec;
  const state = ownState(rollout);
  if (state === "Canceling") return { total: wanted, limit: wanted, maxInFlight: Infinity };
  if (state === "Deploying" || !isBeforeLastStep(rollout)) return { total: instances, limit: instances, maxInFlight };
  return { ...canaryGoal(rollout, Math.min(instances, wanted)), maxInFlight };
}

/** As in CF, a step runs one instance more than before, unless it replaces all of them. */
function canaryGoal(rollout: Rollout, instances: number): Pick<RolloutGoal, "total" | "limit" | "surge"> {
  const weight = rollout.spec.canarySteps?.[currentStep(rollout) - 1]?.instanceWeight;
  if (weight === undefined) return { limit: 1, total: instances + 1, surge: 1 };
  const limit = Math.max(1, Math.round((instances * weight) / 100));
  const total = weight === 100 ? limit : Math.max(limit, instances + 1);
  return { limit, total, surge: total - instances };
}

/** GUID of the web process that cf shows for the version of a Rollout. */
export function rolloutProcessGUID(rollout: Rollout): string {
  return deriveGUID("rollout-process", guidOf(rollout));
}
