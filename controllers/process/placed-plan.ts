// The LRPs of a process on each of its clusters: which instances each has, by its pool of indexes. Pure.
import { listIndexes, toRanges, type IndexRange } from "../../crds/lrp/index-pool.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { Assignment } from "../../crds/placement-decision/placement-decision.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import type { Draft } from "../../kube/client/client.ts";
import { NotReady } from "../../kube/controller/controller.ts";
import type { StageStep } from "../shared/rollout-stages.ts";
import type { RolloutVersions } from "../shared/rollouts.ts";
import { RefusedElsewhere } from "../shared/refuse-elsewhere.ts";
import { planLRPUpdate } from "./lrp.ts";

/** A cluster whose LRPs can be read now. */
export interface ClusterView {
  name: string;
  /** Existing LRPs of the process there, including those under deletion. */
  existing: readonly LRP[];
}

/** The part of a cluster in a version with so many instances. */
export interface Share {
  instances: number;
  indexes: IndexRange[];
}

/** Builds the draft of the LRP at a Revision. @throws NotReady while an input is missing */
export type MakeLRP = (revision: Revision, share: Share, cluster: string) => Draft;

/** The cluster's part of so many instances: the indexes of its pool below their number. */
export function shareOf(cluster: string, assignments: readonly Assignment[], instances: number): Share {
  const pool = assignments.find((one) => one.cluster === cluster)?.indexes ?? [];
  const indexes = listIndexes(pool);
  return { instances: indexes.filter((index) => index < instances).length, indexes: toRanges(indexes) };
}

interface StartInput {
  process: Process;
  revision: Revision;
  share: Share;
  makeLRP: MakeLRP;
}

/**
 * Outside a Rollout: the LRP at the Revision, once no LRP of an earlier start is left on this cluster. Other clusters do not hold it up.
 * @throws RefusedElsewhere where the cluster cannot start the version, before an earlier LRP ends
 */
export function planCluster(
  { name, existing }: ClusterView,
  { process, revision, share, makeLRP }: StartInput,
): Draft[] {
  if (share.instances === 0) return [];
  const current = existing.find((lrp) => isAt(lrp, revision) && !lrp.metadata.deletionTimestamp);
  if (current) return [planLRPUpdate(current, { ...share, restartInstances: process.spec.restartInstances })];
  const make = (): Draft => makeLRP(revision, share, name);
  if (existing.length === 0) return [make()];
  throwRefusal(make);
  return [];
}

/** An input that is missing on every cluster is told once the earlier LRP has ended. */
function throwRefusal(make: () => Draft): void {
  try {
    make();
  } catch (error) {
    if (error instanceof RefusedElsewhere || !(error instanceof NotReady)) throw error;
  }
}

/** The cluster's part of the counts of its stage: the lowest indexes of the stage's pool. */
function shareIn({ pool }: Pick<StageStep, "pool">, indexes: readonly IndexRange[], instances: number): Share {
  const first = new Set(pool.slice(0, instances));
  const own = listIndexes(indexes);
  return { instances: own.filter((index) => first.has(index)).length, indexes: toRanges(own) };
}

interface RolloutInput {
  process: Process;
  versions: RolloutVersions;
  /** The stage of the cluster; undefined for one that the process leaves. */
  stage: StageStep | undefined;
  /** The cluster's part of all instances that are wanted. */
  share: Share;
  makeLRP: MakeLRP;
}

/** During a Rollout: each version with the cluster's part of its instances. */
export function planClusterRollout(view: ClusterView, input: RolloutInput): Draft[] {
  const { stage, share } = input;
  // It has left the decision.
  if (!stage && share.indexes.length === 0) return [];
  return stage?.isUnderWay ? planUnderWay(view, { ...input, stage }) : planWaiting(view, input);
}

/** The LRP of the version that the app runs stays at no instances, so that a cancellation can return to it. */
function planUnderWay(
  { name, existing }: ClusterView,
  { process, versions: { target, running }, stage, share, makeLRP }: RolloutInput & { stage: StageStep },
): Draft[] {
  const { restartInstances } = process.spec;
  const rest = new Map(stage.step.rest.map(({ lrp, instances }) => [lrp.spec.revision, instances]));
  const shareFor = (instances: number): Share => shareIn(stage, share.indexes, instances);
  const others = existing
    .filter((lrp) => !lrp.metadata.deletionTimestamp && !isAt(lrp, target))
    .map((lrp) => ({ lrp, part: shareFor(rest.get(lrp.spec.revision) ?? lrp.spec.instances) }))
    .filter(({ lrp, part }) => part.instances > 0 || isAt(lrp, running))
    .map(({ lrp, part }) => planLRPUpdate(lrp, { ...part, restartInstances }));
  if (!target) return others;
  const part = shareFor(stage.step.next);
  const [growing] = existing.filter((lrp) => isAt(lrp, target));
  if (growing?.metadata.deletionTimestamp) return others;
  if (growing) return [...others, planLRPUpdate(growing, { ...part, restartInstances })];
  return part.instances > 0 ? [...others, makeLRP(target, part, name)] : others;
}

/** A cluster whose turn has not come keeps its versions. Instances that have moved to it run the version that the app runs. */
function planWaiting(
  { name, existing }: ClusterView,
  { process, versions: { running }, share, makeLRP }: RolloutInput,
): Draft[] {
  if (existing.length === 0) return share.instances > 0 ? [makeLRP(running, share, name)] : [];
  const { restartInstances } = process.spec;
  const lrps = existing.filter(({ metadata }) => !metadata.deletionTimestamp);
  const hasOne = lrps.length === 1;
  return lrps
    .filter((lrp) => lrp.spec.instances > 0 || isAt(lrp, running))
    .map((lrp) => {
      const instances = hasOne && isAt(lrp, running) ? share.instances : lrp.spec.instances;
      return planLRPUpdate(lrp, { instances, indexes: share.indexes, restartInstances });
    });
}

function isAt({ spec }: LRP, revision: Revision | undefined): boolean {
  return spec.revision === String(revision?.spec.version);
}
