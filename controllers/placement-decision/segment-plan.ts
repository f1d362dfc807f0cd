// The plan of a process from the objects of the platform's own cluster: what its segment wants, what it needs, and what the clusters are.
import type { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { CLUSTER_NAME_LABEL, LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { SHARED_SEGMENT } from "../../crds/isolation-segment/shared-segment.ts";
import { toRanges, wantedIndexes } from "../../crds/lrp/index-pool.ts";
import { DEFAULT_FAILOVER } from "../../crds/isolation-segment/isolation-segment.ts";
import type { Assignment, PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { defaultInstances } from "../../crds/process/defaults.ts";
import type { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { appKey, OWNING_APP_INDEX, withoutDeleting } from "../shared/app-owned.ts";
import { chooseClass } from "../shared/choose-class.ts";
import { listLRPsOfProcess } from "../shared/lrps-of-process.ts";
import { findPlacement, type SegmentPlacement } from "../shared/placement.ts";
import { findOpenRollout } from "../shared/rollouts.ts";
import { listClusterFacts } from "./clusters.ts";
import { place, type PlacementPlan, type PlacementRequest } from "./plan.ts";

export interface SegmentPlan extends PlacementPlan {
  segment: string;
  revision: string | undefined;
}

export interface PlanForOptions {
  read: Reader;
  now: Date;
  decision: PlacementDecision | undefined;
  /** Without a decision: where instances of the process are now. */
  found?: readonly Assignment[];
  mayBegin?: PlacementRequest["mayBegin"];
  kept?: ReadonlySet<string>;
}

/** Undefined for a process that runs on the platform's own cluster, or that stays as it was decided. */
export function planFor(process: Process, app: App, options: PlanForOptions): SegmentPlan | undefined {
  const { read, now, decision, found = [], mayBegin = () => true, kept = new Set<string>() } = options;
  const revision = findRevision(app, read);
  const isNewStart = isStart(decision, revision);
  const isElsewhere = !decision && found.some(({ cluster }) => cluster !== LOCAL_CLUSTER);
  const comesHome = isNewStart || isElsewhere || isLeaving(decision, read);
  const segment =
    findPlacement(read, process.metadata.namespace) ?? (comesHome ? toHome(decision, isNewStart) : undefined);
  return segment && planIn(segment, process, { read, now, decision, found, mayBegin, kept, revision, isNewStart });
}

interface PlanContext extends Required<PlanForOptions> {
  revision: Revision | undefined;
  isNewStart: boolean;
}

function planIn(
  { segment, placement, failover = DEFAULT_FAILOVER }: SegmentPlacement,
  process: Process,
  { read, now, decision, found, revision, isNewStart, mayBegin, kept }: PlanContext,
): SegmentPlan {
  const request = {
    guid: process.metadata.uid ?? "",
    instances: countIndexes(process, read),
    ...findNeeds(process, revision, read),
    placement,
    failover,
    now: now.getTime(),
    previous: decision?.spec.assignments ?? found,
    isNewStart,
    kept,
    mayBegin,
    isServing: servingIn(decision),
  };
  return {
    segment,
    revision: (isNewStart ? undefined : decision?.spec.revision) ?? revision?.metadata.name,
    ...place(request, listClusterFacts(read)),
  };
}

/** A rolling deployment is no start: its instances stay where those of the last start are. */
function isStart(decision: PlacementDecision | undefined, revision: Revision | undefined): boolean {
  const before = decision?.spec.revision;
  if (before === undefined || revision === undefined || revision.spec.rollout !== undefined) return false;
  return before !== revision.metadata.name;
}

/** Whether a cluster that the process is on is drained or given up, or the process has begun to leave one. */
function isLeaving(decision: PlacementDecision | undefined, read: Reader): boolean {
  const assignments = decision?.spec.assignments ?? [];
  if (assignments.length === 0) return false;
  const left = new Set(
    listClusterFacts(read)
      .filter(({ draining, givenUp }) => draining || givenUp)
      .map(({ name }) => name),
  );
  return assignments.some(({ cluster, state }) => state !== "Active" || left.has(cluster));
}

/**
 * For a start after the segment's placement was removed, and for processes that leave a cluster then. A process that is on one cluster comes home whole,
 * by a class that is never split, too; others may keep clusters that are not left.
 */
function toHome(decision: PlacementDecision | undefined, isNewStart: boolean): SegmentPlacement {
  const isWhole = isNewStart || (decision?.spec.assignments ?? []).length <= 1;
  const clusters = { matchLabels: { [CLUSTER_NAME_LABEL]: LOCAL_CLUSTER } };
  return { segment: SHARED_SEGMENT, placement: { clusters, tolerations: [], ...(isWhole && { count: 1 }) } };
}

/** Whether an instance takes requests, as the clusters that answer say. */
function servingIn(decision: PlacementDecision | undefined): PlacementRequest["isServing"] {
  const serving = new Set(
    (decision?.status?.clusters ?? [])
      .filter(({ deleting, unreachableSince: since }) => !deleting && since === undefined)
      .flatMap(({ name, instances = [] }) =>
        instances.filter(({ state, ready }) => state === "Running" && ready).map(({ index }) => `${name} ${index}`),
      ),
  );
  return (cluster, index) => serving.has(`${cluster} ${index}`);
}

function findRevision({ metadata, status }: App, read: Reader): Revision | undefined {
  const name = status?.revision;
  return name === undefined ? undefined : read.find(Revision, { namespace: metadata.namespace, name });
}

/** A Rollout may bring more instances than the Process has. */
function countIndexes({ metadata, spec }: Process, read: Reader): number {
  const wanted = spec.instances ?? defaultInstances(spec.type);
  const key = appKey(metadata.namespace, spec.appRef.name);
  const rollouts = withoutDeleting(read.byIndex(Rollout, OWNING_APP_INDEX, key, metadata.namespace));
  const open = spec.type === "web" ? findOpenRollout(rollouts) : undefined;
  return Math.max(wanted, open?.spec.instances ?? 0);
}

/** As the Revision says that runs, or is to run. */
function findNeeds(
  { spec }: Process,
  revision: Revision | undefined,
  read: Reader,
): Pick<PlacementRequest, "runner" | "memoryMB" | "hasVolumes"> {
  const snapshot = revision?.spec.processes.find(({ type }) => type === spec.type);
  return {
    runner:
      snapshot?.runner ??
      chooseClass(read.list(BackendClass), { role: "runner", className: spec.runner }).metadata.name,
    memoryMB: snapshot?.memoryMB ?? spec.memoryMB,
    hasVolumes: (revision?.spec.volumes ?? []).length > 0,
  };
}

/**
 * Instances that ran before the segment had a placement stay, and so do those on clusters whose decision was lost. Of a cluster that cannot be read now nothing
 * is known: its instances end when it can be.
 */
export function findInstances(
  { metadata }: Process,
  guid: string,
  { read, clusters }: Pick<ReconcileContext, "read" | "clusters">,
): Assignment[] {
  const there = clusters.names().map((name) => {
    const lrps = clusters.find(name)?.listOwned(LRP, guid) ?? [];
    return { cluster: name, lrps: lrps.filter(({ metadata: { deletionTimestamp } }) => !deletionTimestamp) };
  });
  return [{ cluster: LOCAL_CLUSTER, lrps: listLRPsOfProcess(read, metadata) }, ...there].flatMap(
    ({ cluster, lrps }): Assignment[] => {
      const indexes = toRanges(lrps.flatMap(({ spec }) => wantedIndexes(spec)));
      return indexes.length > 0 ? [{ cluster, indexes, state: "Active", reason: "Held" }] : [];
    },
  );
}
