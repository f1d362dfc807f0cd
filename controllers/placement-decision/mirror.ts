// Mirrors what the instances of a process do on its clusters into the status of its decision, so that readers need no other cluster.
import { LRUCache } from "lru-cache";
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { toPlacedLRP } from "../../crds/placement-decision/merged-lrps.ts";
import { PlacementDecision, type PlacedLRP } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { mergeDiff } from "../../kube/api/merge-diff.ts";
import { parseKey } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import {
  defineController,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { listLRPsOfProcess } from "../shared/lrps-of-process.ts";
import { unreachableSince } from "../shared/reachable.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import { createChangeFilter, createRunnerFilter, toKey } from "./clusters.ts";
import type { PlacementPlan } from "./plan.ts";
import { planFor } from "./segment-plan.ts";

/** Between two writes of one decision's status. */
const MIRROR_INTERVAL_MS = 1_000;
const MAX_MIRRORED = 50_000;

/** Keeps the status of a decision. */
export function mirrorController(): Controller {
  const concerns = createChangeFilter();
  const concernsRunner = createRunnerFilter();
  const written = new LRUCache<string, number>({ max: MAX_MIRRORED });
  return defineController({
    name: "placement-status",
    kind: "singleton",
    for: PlacementDecision,
    reads: [App, IsolationSegment, Process, Revision, Rollout, ...TENANCY_KINDS],
    watches: [
      watch(LRP, ({ metadata }) => {
        const owner = metadata.annotations?.[ANNOTATIONS.owner];
        return owner === undefined ? [] : [parseKey(owner)];
      }),
      watch(Cluster, (cluster, read) => (concerns(cluster) ? read.list(PlacementDecision).map(toKey) : [])),
      watch(BackendClass, (one, read) => (concernsRunner(one) ? read.list(PlacementDecision).map(toKey) : [])),
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
      const isSame = mergeDiff(decision.status?.clusters ?? [], status.clusters) === undefined;
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
  return { clusters, rejected: findRejected(decision, context), runningInstances: running.length };
}

function findRejected(
  decision: PlacementDecision,
  { read, now }: Pick<ReconcileContext, "read" | "now">,
): PlacementPlan["rejected"] | undefined {
  const { namespace, name } = decision.metadata;
  const process = read.find(Process, { namespace, name });
  const app = process && read.find(App, { namespace, name: process.spec.appRef.name });
  const rejected = app && planFor(process, app, { read, now: now(), decision })?.rejected;
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
    if (!cluster || cluster.metadata.deletionTimestamp) return [];
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
