// The LRPs of a process on each of its clusters: which instances each has, by its pool of indexes. Pure.
import { listIndexes, toRanges, type IndexRange } from "../../crds/lrp/index-pool.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { Assignment } from "../../crds/placement-decision/placement-decision.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import type { Draft } from "../../kube/client/client.ts";
import { NotReady } from "../../kube/controller/controller.ts";
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

/** Counts of instances that a step of a Rollout wants over all clusters. */
export interface VersionCounts {
  target: { revision: Revision | undefined; instances: number };
  /** The Revision that the app runs: its LRP stays at no instances, so that a cancellation can return to it. */
  running: Revision;
  /** By revision, as in the LRP's spec. */
  rest: ReadonlyMap<string, number>;
}

/** During a Rollout: each version with the cluster's part of its instances. */
export function planClusterRollout(
  { name, existing }: ClusterView,
  { target, running, rest }: VersionCounts,
  { process, shareFor, makeLRP }: { process: Process; shareFor: (instances: number) => Share; makeLRP: MakeLRP },
): Draft[] {
  const { restartInstances } = process.spec;
  const others = existing
    .filter((lrp) => !lrp.metadata.deletionTimestamp && !isAt(lrp, target.revision))
    .map((lrp) => ({ lrp, share: shareFor(rest.get(lrp.spec.revision) ?? lrp.spec.instances) }))
    .filter(({ lrp, share }) => share.instances > 0 || isAt(lrp, running))
    .map(({ lrp, share }) => planLRPUpdate(lrp, { ...share, restartInstances }));
  if (!target.revision) return others;
  const share = shareFor(target.instances);
  const [growing] = existing.filter((lrp) => isAt(lrp, target.revision));
  if (growing?.metadata.deletionTimestamp) return others;
  if (growing) return [...others, planLRPUpdate(growing, { ...share, restartInstances })];
  return share.instances > 0 ? [...others, makeLRP(target.revision, share, name)] : others;
}

function isAt({ spec }: LRP, revision: Revision | undefined): boolean {
  return spec.revision === String(revision?.spec.version);
}
