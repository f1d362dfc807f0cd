// Keeps the status of Clusters: whether they answer, what they can run, and how much of this platform is there. One replica does.
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { defineController, type Controller, type RemoteCluster } from "../../kube/controller/controller.ts";
import { planConditions, planGivingUp, type ObserveClusters } from "./plan.ts";

/** On every Cluster, until its instances have been placed elsewhere. */
const CLUSTER_FINALIZER = "cupola.dev/cluster";

/** The number of LRPs changes with every start; it is looked at this often. */
const COUNT_MS = 15_000;

export function clusterController({ observe, onChange }: ObserveClusters): Controller {
  return defineController({
    name: "cluster",
    kind: "singleton",
    for: Cluster,
    remote: {
      owns: [LRP],
      reads: [BackendClass],
      mapCluster: (name) => [{ namespace: SYSTEM_NAMESPACE, name }],
    },
    reads: [PlacementDecision],
    finalizer: CLUSTER_FINALIZER,
    finalize: ({ metadata: { name } }, { read }) =>
      planGivingUp(name, read.list(PlacementDecision).filter((one) => isHeldBy(one, name)).length),
    sources: [
      (enqueue, signal) => {
        const stop = onChange((name) => enqueue({ namespace: SYSTEM_NAMESPACE, name }));
        signal.addEventListener("abort", stop, { once: true });
      },
    ],

    reconcile(cluster, { clusters }) {
      const { name } = cluster.metadata;
      const seen = observe(name);
      const remote = clusters.find(name);
      const { reachable, ready } = planConditions(cluster, seen && { ...seen, isRead: remote !== undefined });
      return {
        status: {
          ...(seen?.uid !== undefined && cluster.status?.clusterUID === undefined && { clusterUID: seen.uid }),
          ...(seen?.version !== undefined && { versions: { kubernetes: seen.version } }),
          ...(remote && { classes: listClasses(remote), lrps: remote.read.list(LRP).length }),
        },
        conditions: [reachable],
        ready,
        requeueAfterMs: COUNT_MS,
      };
    },
  });
}

/** The decision of a process that is being deleted goes with it. */
function isHeldBy({ metadata, spec }: PlacementDecision, cluster: string): boolean {
  return (
    !metadata.deletionTimestamp && spec.assignments.some((one) => one.cluster === cluster && one.indexes.length > 0)
  );
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
