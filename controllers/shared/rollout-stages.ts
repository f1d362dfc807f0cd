// A step of a Rollout on several clusters: each stage of clusters has a part of the counts, and instances are replaced in one stage after another. Pure.
import { listIndexes } from "../../crds/lrp/index-pool.ts";
import { mergeLRPs } from "../../crds/placement-decision/merged-lrps.ts";
import type { Assignment, PlacedLRP } from "../../crds/placement-decision/placement-decision.ts";
import { goalOf, ownState, type RolloutGoal } from "../../crds/rollout/rules.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { isRestored } from "./rollout-counts.ts";
import { planRolloutStep, type AppHistory, type RolloutStep, type RolloutVersions } from "./rollouts.ts";

export interface StageStep {
  /** Clusters whose instances are replaced in this stage. */
  clusters: readonly string[];
  /** Those of them that cannot be read now: they are left alone. */
  silent: readonly string[];
  /** Indexes of the others, ascending. */
  pool: readonly number[];
  /** Whether its instances are replaced now, or have been. Others keep what they have. */
  isUnderWay: boolean;
  step: RolloutStep;
}

export interface StagesInput {
  namespace: string | undefined;
  /** The LRPs of the process on all clusters. */
  placed: readonly PlacedLRP[];
  assignments: readonly Assignment[];
  /** Number of instances in the web Process's spec. */
  wanted: number;
  /** Clusters that cannot be read now. */
  silent: ReadonlySet<string>;
}

/** The stages of a Rollout in their order, each with its step. */
export function planStageSteps(versions: RolloutVersions, history: AppHistory, input: StagesInput): StageStep[] {
  const { rollout } = versions;
  const stages = listStages(rollout, input.assignments).map((clusters) => {
    const silent = clusters.filter((name) => input.silent.has(name));
    const active = clusters.filter((name) => !input.silent.has(name));
    return { clusters, silent, active, pool: poolOf(active, input.assignments) };
  });
  const goals = shareGoal(goalOf(rollout, input.wanted), {
    pools: stages.map(({ pool }) => pool),
    all: poolOf(
      input.assignments.map(({ cluster }) => cluster),
      input.assignments,
    ),
  });
  const maxFailures = rollout.status?.stageRules?.maxFailures ?? 0;
  const planned = stages.map(({ active, ...stage }, at) => {
    const placed = input.placed.filter(({ name }) => active.includes(name));
    const goal = { ...(goals[at] ?? NOTHING), maxFailures };
    const lrps = mergeLRPs(input.namespace, placed);
    return { ...stage, step: planRolloutStep(versions, history, { lrps, wanted: input.wanted, goal }) };
  });
  const underWay = ownState(rollout) === "Canceling" ? returningFrom(planned) : passedTo(rollout);
  return planned.map((stage, at) => ({ ...stage, isUnderWay: underWay(at) }));
}

const NOTHING: RolloutGoal = { total: 0, limit: 0, maxInFlight: 1 };

/** Nothing is replaced before the stages are chosen. */
function passedTo({ status }: Rollout): (at: number) => boolean {
  const stage = status?.stages ? (status.stage ?? 1) : 0;
  return (at) => at < stage;
}

/** A cancellation returns in reverse: a stage waits until all later ones have the former version. */
function returningFrom(stages: readonly Pick<StageStep, "step">[]): (at: number) => boolean {
  const last = stages.findLastIndex(({ step }) => !isRestored(step.target, step.others, step.goal));
  return (at) => at >= last;
}

/**
 * The clusters of each stage. One that has come since the start belongs to the last stage. One that the process leaves is in none: its instances end when those
 * that replace them take requests.
 */
function listStages({ status }: Rollout, assignments: readonly Assignment[]): string[][] {
  const staying = listStaying(assignments);
  const chosen = (status?.stages ?? []).map((names) => names.filter((name) => staying.includes(name)));
  const known = new Set(chosen.flat());
  const others = staying.filter((name) => !known.has(name));
  const last = chosen.pop() ?? [];
  return [...chosen, [...last, ...others]];
}

/** Clusters that have an index which is not on its way to another one. */
export function listStaying(assignments: readonly Assignment[]): string[] {
  const active = new Set(
    assignments.filter(({ state }) => state === "Active").flatMap(({ indexes }) => listIndexes(indexes)),
  );
  return assignments
    .filter(({ state, indexes }) => state === "Active" || listIndexes(indexes).some((index) => !active.has(index)))
    .map(({ cluster }) => cluster);
}

function poolOf(clusters: readonly string[], assignments: readonly Assignment[]): number[] {
  return listIndexes(assignments.filter(({ cluster }) => clusters.includes(cluster)).flatMap(({ indexes }) => indexes));
}

/** Fills the stages in their order. Indexes that no cluster has belong to the last one, which waits for them. */
function shareGoal(
  { total, limit, surge = 0, maxInFlight }: RolloutGoal,
  { pools, all }: { pools: readonly (readonly number[])[]; all: readonly number[] },
): RolloutGoal[] {
  const wanted = total - surge;
  const sizes = pools.map((pool) => pool.filter((index) => index < wanted).length);
  const unplaced = wanted - all.filter((index) => index < wanted).length;
  const caps = sizes.map((size, at) => (at === sizes.length - 1 ? size + unplaced : size));
  let left = limit >= wanted ? Infinity : limit;
  const limits = caps.map((cap) => {
    const part = Math.min(cap, left);
    left -= part;
    return part;
  });
  const lastFilled = limits.findLastIndex((part) => part > 0);
  return caps.map((cap, at) => {
    const part = limits[at] ?? 0;
    return { total: cap + (at === lastFilled ? surge : 0), limit: part, maxInFlight };
  });
}
