// Decides on which clusters processes run, and mirrors what their instances do there, so that readers need no other cluster. One replica does both.
import { LRUCache } from "lru-cache";
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { toRanges, wantedIndexes } from "../../crds/lrp/index-pool.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { toPlacedLRP } from "../../crds/placement-decision/merged-lrps.ts";
import {
  PlacementDecision,
  type Assignment,
  type PlacedLRP,
} from "../../crds/placement-decision/placement-decision.ts";
import { defaultInstances } from "../../crds/process/defaults.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { parseKey } from "../../kube/api/object.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { Draft } from "../../kube/client/client.ts";
import {
  defineController,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { appKey, indexByApp, mapAppToOwned, OWNING_APP_INDEX, withoutDeleting } from "../shared/app-owned.ts";
import { chooseClass } from "../shared/choose-class.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { listLRPsOfProcess } from "../shared/lrps-of-process.ts";
import { findPlacement } from "../shared/placement.ts";
import { resolveProcessGUID } from "../shared/process-guid.ts";
import { unreachableSince } from "../shared/reachable.ts";
import { findOpenRollout } from "../shared/rollouts.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import { createChangeFilter, listClusterFacts } from "./clusters.ts";
import { place, type PlacementPlan } from "./plan.ts";

/** Between two writes of one decision's status. */
const MIRROR_INTERVAL_MS = 1_000;
const MAX_MIRRORED = 50_000;

export function placementControllers(): Controller[] {
  return [placementController(), mirrorController()];
}

/** Makes, changes and removes the decision of a Process. */
function placementController(): Controller {
  const concerns = createChangeFilter();
  return defineController({
    name: "placement",
    kind: "singleton",
    for: Process,
    owns: [PlacementDecision],
    reads: [...TENANCY_KINDS, BackendClass, LRP, Revision],
    indexes: { [GUID_INDEX]: indexByGUID, [OWNING_APP_INDEX]: indexByApp },
    watches: [
      watch(App, mapAppToOwned),
      watch(Rollout, (rollout) => ({ [OWNING_APP_INDEX]: indexByApp(rollout)[0] ?? "" })),
      watch(IsolationSegment, (_segment, read) => read.list(Process).map(({ metadata }) => metadata)),
      watch(Cluster, (cluster, read) => (concerns(cluster) ? read.list(PlacementDecision).map(toKey) : [])),
    ],
    writesStatus: false,
    writesObject: false,

    reconcile(process, context) {
      const { read } = context;
      const { namespace, name } = process.metadata;
      const app = read.find(App, { namespace, name: process.spec.appRef.name });
      const decision = read.find(PlacementDecision, { namespace, name });
      if (!app || app.spec.state === "Stopped")
        return decision && (decision.status?.clusters ?? []).length === 0 ? { children: [] } : {};
      const plan = planFor(process, app, { read, decision });
      return plan ? { children: [toDecision(process, app, { ...plan, context })] } : {};
    },
  });
}

function toKey({ metadata }: PlacementDecision): { namespace: string | undefined; name: string } {
  return { namespace: metadata.namespace, name: metadata.name };
}

interface SegmentPlan extends PlacementPlan {
  segment: string;
}

/** Undefined for a process that runs on the platform's own cluster, or that stays as it was decided. */
function planFor(
  process: Process,
  app: App,
  { read, decision }: { read: Reader; decision: PlacementDecision | undefined },
): SegmentPlan | undefined {
  const found = findPlacement(read, process.metadata.namespace);
  if (!found) return undefined;
  const request = {
    guid: process.metadata.uid ?? "",
    instances: countIndexes(process, read),
    runner: findRunner(process, app, read),
    placement: found.placement,
    previous: decision?.spec.assignments ?? heldLocally(process, read),
  };
  return { segment: found.segment, ...place(request, listClusterFacts(read)) };
}

/** A Rollout may bring more instances than the Process has. */
function countIndexes({ metadata, spec }: Process, read: Reader): number {
  const wanted = spec.instances ?? defaultInstances(spec.type);
  const key = appKey(metadata.namespace, spec.appRef.name);
  const rollouts = withoutDeleting(read.byIndex(Rollout, OWNING_APP_INDEX, key, metadata.namespace));
  const open = spec.type === "web" ? findOpenRollout(rollouts) : undefined;
  return Math.max(wanted, open?.spec.instances ?? 0);
}

function findRunner({ metadata, spec }: Process, app: App, read: Reader): string {
  const revision =
    app.status?.revision === undefined
      ? undefined
      : read.find(Revision, { namespace: metadata.namespace, name: app.status.revision });
  const snapshot = revision?.spec.processes.find(({ type }) => type === spec.type);
  return (
    snapshot?.runner ?? chooseClass(read.list(BackendClass), { role: "runner", className: spec.runner }).metadata.name
  );
}

/** Instances that ran before the segment had a placement stay. */
function heldLocally({ metadata }: Process, read: Reader): Assignment[] {
  const indexes = toRanges(listLRPsOfProcess(read, metadata).flatMap(({ spec }) => wantedIndexes(spec)));
  return indexes.length > 0 ? [{ cluster: LOCAL_CLUSTER, indexes, state: "Active", reason: "Held" }] : [];
}

function toDecision(
  process: Process,
  app: App,
  { segment, assignments, context }: SegmentPlan & { context: ReconcileContext },
): Draft {
  const appGUID = resolveGUID(App, app, context).guid;
  const { guid } = resolveProcessGUID(process, appGUID, context);
  return {
    apiVersion: apiVersionOf(PlacementDecision),
    kind: PlacementDecision.kind,
    metadata: {
      name: process.metadata.name,
      namespace: process.metadata.namespace,
      labels: { [LABELS.app]: appGUID, [LABELS.process]: guid },
    },
    spec: { segment, app: appGUID, processType: process.spec.type, assignments },
  };
}

/** Keeps the status of a decision. */
function mirrorController(): Controller {
  const concerns = createChangeFilter();
  const written = new LRUCache<string, number>({ max: MAX_MIRRORED });
  return defineController({
    name: "placement-status",
    kind: "singleton",
    for: PlacementDecision,
    reads: [App, BackendClass, IsolationSegment, Process, Revision, Rollout, ...TENANCY_KINDS],
    watches: [
      watch(LRP, ({ metadata }) => {
        const owner = metadata.annotations?.[ANNOTATIONS.owner];
        return owner === undefined ? [] : [parseKey(owner)];
      }),
      watch(Cluster, (cluster, read) => (concerns(cluster) ? read.list(PlacementDecision).map(toKey) : [])),
    ],
    remote: {
      owns: [LRP],
      ownerKind: Process,
      mapCluster: (_cluster, read) => read.list(PlacementDecision).map(toKey),
    },

    reconcile(decision, context) {
      const status = mirror(decision, context);
      const { uid = "" } = decision.metadata;
      const now = context.now().getTime();
      const waitMs = (written.get(uid) ?? -Infinity) + MIRROR_INTERVAL_MS - now;
      const isSame = JSON.stringify(status.clusters) === JSON.stringify(decision.status?.clusters ?? []);
      if (!isSame && waitMs > 0) return { keepStatus: true, requeueAfterMs: waitMs };
      if (!isSame) written.set(uid, now);
      return { status, ready: toReady(decision, status) };
    },
  });
}

interface MirroredStatus extends Record<string, unknown> {
  clusters: PlacedLRP[];
  rejected: PlacementPlan["rejected"] | undefined;
  runningInstances: number;
}

function mirror(decision: PlacementDecision, context: ReconcileContext): MirroredStatus {
  const clusters = [...listLocal(decision, context.read), ...listRemote(decision, context)];
  const running = clusters
    .filter((one) => one.unreachableSince === undefined)
    .flatMap(({ instances = [] }) => instances)
    .filter(({ state, ready }) => state === "Running" && ready);
  return { clusters, rejected: findRejected(decision, context.read), runningInstances: running.length };
}

function findRejected(decision: PlacementDecision, read: Reader): PlacementPlan["rejected"] | undefined {
  const { namespace, name } = decision.metadata;
  const process = read.find(Process, { namespace, name });
  const app = process && read.find(App, { namespace, name: process.spec.appRef.name });
  const rejected = app && planFor(process, app, { read, decision })?.rejected;
  return rejected && rejected.length > 0 ? rejected : undefined;
}

function listLocal({ metadata }: PlacementDecision, read: Reader): PlacedLRP[] {
  const uid = metadata.ownerReferences?.find(({ kind }) => kind === Process.kind)?.uid;
  return byName(listLRPsOfProcess(read, { ...metadata, uid }).map((lrp) => toPlacedLRP(LOCAL_CLUSTER, lrp)));
}

/** A cluster that cannot be read keeps its entries: nobody knows better. One whose Cluster is gone was given up. */
function listRemote({ metadata, spec, status }: PlacementDecision, { clusters, read }: ReconcileContext): PlacedLRP[] {
  const known = (status?.clusters ?? []).filter(({ name }) => name !== LOCAL_CLUSTER);
  const names = new Set([
    ...spec.assignments.map(({ cluster }) => cluster),
    ...known.map(({ name }) => name),
    ...clusters.names(),
  ]);
  names.delete(LOCAL_CLUSTER);
  return [...names].toSorted().flatMap((name) => {
    const lrps = clusters.find(name)?.listOwned(LRP, metadata.labels?.[LABELS.process] ?? "");
    if (lrps) return byName(lrps.map((lrp) => toPlacedLRP(name, lrp)));
    const cluster = read.find(Cluster, { namespace: SYSTEM_NAMESPACE, name });
    if (!cluster) return [];
    const since = unreachableSince(cluster);
    return known
      .filter((entry) => entry.name === name)
      .map(({ unreachableSince: before, ...entry }) => ({
        ...entry,
        ...((since ?? before) !== undefined && { unreachableSince: since ?? before }),
      }));
  });
}

function byName(placed: readonly PlacedLRP[]): PlacedLRP[] {
  return placed.toSorted((a, b) => (a.lrp < b.lrp ? -1 : 1));
}

function toReady({ spec }: PlacementDecision, status: MirroredStatus): ReconcileResult["ready"] {
  const rejected = (status.rejected ?? []).map(({ reason, clusters, example }) =>
    clusters === 1 ? `${example}: ${reason}` : `${example} and ${clusters - 1} more: ${reason}`,
  );
  if (spec.assignments.length === 0)
    return {
      status: "False",
      reason: "TooFewClusters",
      message: `no cluster takes the process (${rejected.join("; ") || "there is none"}); change the placement of segment ${spec.segment} or its clusters`,
      isFailure: true,
    };
  const names = spec.assignments.map(({ cluster }) => cluster).join(", ");
  return { status: "True", reason: "Placed", message: `runs on ${names}` };
}
