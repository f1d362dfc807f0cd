// The end of a Process that runs on several clusters: it waits until its LRPs there have gone. What cannot be seen now may still run.
import { Cluster } from "../../crds/cluster/cluster.ts";
import { LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import type { Process } from "../../crds/process/process.ts";
import type { FinalizeResult, ReconcileContext } from "../../kube/controller/controller.ts";

/** On a Process while it has a PlacementDecision. */
export const CLUSTERS_FINALIZER = "cupola.dev/clusters";

export function planEnd(
  { metadata: { namespace, name } }: Process,
  guid: string,
  { read, clusters }: Pick<ReconcileContext, "read" | "clusters">,
): FinalizeResult {
  const decision = read.find(PlacementDecision, { namespace, name });
  // The status may not tell yet what was made on a cluster that was assigned.
  const places = new Set([
    ...(decision?.status?.clusters ?? []).map((one) => one.name),
    ...(decision?.spec.assignments ?? []).map(({ cluster }) => cluster),
  ]);
  // A cluster whose object is gone was given up.
  const exists = (one: string): boolean => read.find(Cluster, { namespace: SYSTEM_NAMESPACE, name: one }) !== undefined;
  const unseen = [...places].filter((one) => one !== LOCAL_CLUSTER && !clusters.find(one) && exists(one));
  const holding = clusters.names().filter((one) => (clusters.find(one)?.listOwned(LRP, guid).length ?? 0) > 0);
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
