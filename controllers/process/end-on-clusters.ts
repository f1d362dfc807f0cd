// The end of a Process that runs on several clusters: it waits until its LRPs there have gone. What cannot be seen now may still run.
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../crds/process/process.ts";
import type { ObjectKey } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type {
  FinalizeResult,
  ReconcileContext,
  ReconcileResult,
  RemoteClusters,
} from "../../kube/controller/controller.ts";
import { listHolders } from "../shared/other-clusters.ts";

/** On a Process while it has a PlacementDecision. */
export const CLUSTERS_FINALIZER = "cupola.dev/clusters";

export function planEnd(
  { metadata: { namespace, name } }: Process,
  guid: string,
  { read, clusters }: Pick<ReconcileContext, "read" | "clusters">,
): FinalizeResult {
  const decision = read.find(PlacementDecision, { namespace, name });
  const places = decision && listPlaces(decision);
  // Where the decision was lost, each cluster may have instances.
  const unseen = listUnread(read, clusters).filter((one) => !places || places.has(one));
  const holding = listHolders(clusters, LRP, guid);
  if (unseen.length === 0 && holding.length === 0) return undefined;
  const names = [...new Set([...holding, ...unseen])].join(", ");
  return {
    children: [],
    remote: { owner: guid, children: Object.fromEntries(holding.map((one) => [one, []])) },
    ready: {
      status: "False",
      reason: unseen.length > 0 ? "ClusterUnreachable" : "Stopping",
      message: `its instances on ${names} must end first`,
    },
  };
}

/** The status may not tell yet what was made on a cluster that was assigned. */
function listPlaces({ spec, status }: PlacementDecision): ReadonlySet<string> {
  return new Set([
    ...(status?.clusters ?? []).map(({ name }) => name),
    ...spec.assignments.map(({ cluster }) => cluster),
  ]);
}

/** The processes that may have instances on other clusters. One whose decision was lost has the finalizer alone. */
export function listOnClusters(read: Reader): ObjectKey[] {
  const processes = read.list(Process).filter(({ metadata }) => metadata.finalizers?.includes(CLUSTERS_FINALIZER));
  // A decision has the name of its Process.
  return [...read.list(PlacementDecision), ...processes].map(({ metadata: { namespace, name } }) => ({
    namespace,
    name,
  }));
}

/** The clusters that cannot be read now. One whose object is gone, or going, was given up. */
export function listUnread(read: Reader, clusters: RemoteClusters): string[] {
  return read
    .list(Cluster, { namespace: SYSTEM_NAMESPACE })
    .filter(({ metadata }) => !metadata.deletionTimestamp && !clusters.find(metadata.name))
    .map(({ metadata }) => metadata.name);
}

/** An LRP that was being made elsewhere when the app was stopped may come after the decision has gone. */
export function endElsewhere(
  result: ReconcileResult,
  { guid, clusters }: { guid: string; clusters: RemoteClusters },
): ReconcileResult {
  const holders = listHolders(clusters, LRP, guid);
  if (holders.length === 0) return result;
  return { ...result, remote: { owner: guid, children: Object.fromEntries(holders.map((name) => [name, []])) } };
}
