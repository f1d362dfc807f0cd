// Questions of controllers about the clusters on which their children may be.
import { Cluster } from "../../crds/cluster/cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { RemoteClusters } from "../../kube/controller/controller.ts";

/** Whether its Cluster is gone, or going: nobody waits for what runs there. */
export function isGivenUp(cluster: string, read: Reader): boolean {
  const found = read.find(Cluster, { namespace: SYSTEM_NAMESPACE, name: cluster });
  return !found || found.metadata.deletionTimestamp !== undefined;
}

/** The clusters that can be read now and have children of this kind. `owner`: the id by which they name it. */
export function listHolders<T extends KubeObject>(
  clusters: RemoteClusters,
  kind: ResourceRef<T>,
  owner: string,
): string[] {
  return clusters.names().filter((name) => (clusters.find(name)?.listOwned(kind, owner).length ?? 0) > 0);
}
