// Keeps the status of Clusters: whether they answer, what they can run, and how much of this platform is there. One replica does.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import {
  defineController,
  type Controller,
  type FinalizeResult,
  type ReconcileContext,
  type RemoteCluster,
  type RemoteMarkers,
} from "../../kube/controller/controller.ts";
import type { SpokeFacts } from "../../crds/cluster/spoke-facts.ts";
import { revokeAgent } from "./agent-account.ts";
import { createFactsReader } from "./facts.ts";
import { ORPHAN_KINDS, OWNER_KINDS, settleOrphans } from "./orphans.ts";
import {
  isBeingGivenUp,
  isStillAsking,
  planConditions,
  planSilence,
  staysReachable,
  planGivingUp,
  toCapacity,
  toHints,
  type ClusterObservation,
  type ObserveClusters,
} from "./plan.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";

/** On every Cluster, until its instances have been placed elsewhere. */
const CLUSTER_FINALIZER = "cupola.dev/cluster";

/** The number of LRPs changes with every start; it is looked at this often. */
const COUNT_MS = 15_000;

const ANSWERING: ClusterObservation = { state: { phase: "engaged" } };

export function clusterController({ observe, onChange }: ObserveClusters): Controller {
  /** Since when this process asks a cluster of which it knows nothing yet. */
  const asking = new Map<string, number>();
  const facts = createFactsReader();
  return defineController({
    name: "cluster",
    kind: "singleton",
    for: Cluster,
    remote: {
      owns: ORPHAN_KINDS,
      reads: [BackendClass],
      mapCluster: (name) => [{ namespace: SYSTEM_NAMESPACE, name }],
    },
    reads: [PlacementDecision, ...OWNER_KINDS],
    finalizer: CLUSTER_FINALIZER,
    finalize: giveUp,
    sources: [followObservations(onChange)],

    async reconcile(cluster, context) {
      const { name } = cluster.metadata;
      const seen = observe(name);
      const remote = context.clusters.find(name);
      const read = seen && { ...seen, isRead: remote !== undefined };
      const askingMs = countAsking(asking, name, { isAsking: isStillAsking(read), now: context.now().getTime() });
      const { reachable, ready } = planConditions(cluster, staysReachable(cluster, askingMs) ? ANSWERING : read);
      const told = remote && (await facts.read(name, remote.client, context.now()));
      const orphans = remote && (await settleOrphans(cluster, remote, context));
      return {
        status: {
          ...toHub(context.clusters.markers),
          ...toFacts(cluster, seen, told),
          ...planSilence(cluster, reachable, context.now()),
          ...(remote && toContents(remote)),
          ...orphans?.status,
        },
        conditions: [reachable, ...(orphans?.conditions ?? []), ...toHints(cluster, seen)],
        ready,
        requeueAfterMs: COUNT_MS,
      };
    },
  });
}

/** The agent of a pull cluster loses its rights first. */
async function giveUp(cluster: Cluster, { read, client, log }: ReconcileContext): Promise<FinalizeResult> {
  const { name } = cluster.metadata;
  if (cluster.spec.mode === "pull" && !isBeingGivenUp(cluster)) await revokeAgent(name, { client, log });
  return planGivingUp(name, countHolding(name, read));
}

function followObservations(onChange: ObserveClusters["onChange"]): NonNullable<Controller["sources"]>[number] {
  return (enqueue, signal) => {
    const stop = onChange((name) => enqueue({ namespace: SYSTEM_NAMESPACE, name }));
    signal.addEventListener("abort", stop, { once: true });
  };
}

/** Milliseconds for which a cluster has been asked; Infinity for one of which something is known. */
function countAsking(
  asking: Map<string, number>,
  name: string,
  { isAsking, now }: { isAsking: boolean; now: number },
): number {
  if (!isAsking) asking.delete(name);
  else if (!asking.has(name)) asking.set(name, now);
  return now - (asking.get(name) ?? -Infinity);
}

/** An agent marks its objects with it. */
function toHub(markers: RemoteMarkers | undefined): object {
  return markers ? { hub: markers.hub } : {};
}

/** The uid is written once. */
function toFacts({ status }: Cluster, seen: ClusterObservation | undefined, told: SpokeFacts | undefined): object {
  const known = { ...status?.versions };
  return {
    ...(seen?.uid !== undefined && status?.clusterUID === undefined && { clusterUID: seen.uid }),
    versions: toVersions(seen?.version ?? known.kubernetes, told ? told.cupola : known.cupola),
    ...(told && { capacity: toCapacity(told.capacity) }),
  };
}

function toVersions(kubernetes: string | undefined, cupola: string | undefined): object | undefined {
  if (kubernetes === undefined && cupola === undefined) return undefined;
  return omitUndefined({ kubernetes, cupola });
}

function toContents(remote: RemoteCluster): object {
  return { classes: listClasses(remote), lrps: remote.read.list(LRP).length };
}

/** The processes that run on a cluster, and so have to be placed elsewhere. */
export function countHolding(cluster: string, read: Reader): number {
  return read
    .list(PlacementDecision)
    .filter(({ spec }) => spec.assignments.some((one) => one.cluster === cluster && one.indexes.length > 0))
    .filter((decision) => isToRun(decision, read)).length;
}

/** Nothing is placed anew of a process that is being deleted, or whose app is stopped or gone. */
function isToRun({ metadata: { namespace, name, deletionTimestamp } }: PlacementDecision, read: Reader): boolean {
  const process = read.find(Process, { namespace, name });
  if (!process || process.metadata.deletionTimestamp || deletionTimestamp) return false;
  const app = read.find(App, { namespace, name: process.spec.appRef.name });
  return app !== undefined && !app.metadata.deletionTimestamp && app.spec.state !== "Stopped";
}

function listClasses({ read }: RemoteCluster): object[] {
  return read
    .list(BackendClass)
    .map(({ metadata, spec, status }) => {
      const indexes = status?.capabilities?.["indexes"];
      return { role: spec.role, name: metadata.name, ...(indexes !== undefined && { indexes }) };
    })
    .toSorted((a, b) => (`${a.role}/${a.name}` < `${b.role}/${b.name}` ? -1 : 1));
}
