// The facts about clusters that a placement follows from.
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { CLUSTER_NAME_LABEL, LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { hasReached } from "../../kube/api/resource-version.ts";
import { isReachable } from "../shared/reachable.ts";
import type { ClusterFacts } from "./plan.ts";

/** The platform's own cluster and all others but those that are being removed. */
export function listClusterFacts(read: Reader): ClusterFacts[] {
  const others = read.list(Cluster).filter(({ metadata }) => !metadata.deletionTimestamp);
  return [localFacts(read), ...others.map(toFacts)];
}

function localFacts(read: Reader): ClusterFacts {
  const runners = read.list(BackendClass).filter(({ spec }) => spec.role === "runner");
  return {
    name: LOCAL_CLUSTER,
    labels: { [CLUSTER_NAME_LABEL]: LOCAL_CLUSTER },
    taints: [],
    cordoned: false,
    reachable: true,
    weight: 100,
    runners: new Map(runners.map(({ metadata, status }) => [metadata.name, status?.capabilities?.["indexes"]])),
  };
}

function toFacts(cluster: Cluster): ClusterFacts {
  const { metadata, spec, status } = cluster;
  const runners = (status?.classes ?? []).filter(({ role }) => role === "runner");
  return {
    name: metadata.name,
    labels: { ...metadata.labels, [CLUSTER_NAME_LABEL]: metadata.name },
    taints: spec.taints.map(({ key }) => key),
    cordoned: spec.cordoned,
    reachable: isReachable(cluster),
    weight: spec.weight,
    runners: new Map(runners.map(({ name, indexes }) => [name, indexes])),
  };
}

/** A function that says whether a change of a Cluster can change a placement: most only count its LRPs. */
export function createChangeFilter(): (cluster: Cluster) => boolean {
  const last = new Map<string, { version: string; facts: string }>();
  return (cluster) => {
    const { name, resourceVersion: version = "" } = cluster.metadata;
    const known = last.get(name);
    if (known && hasReached(known.version, version)) return false;
    const { runners, ...rest } = toFacts(cluster);
    const facts = JSON.stringify([...runners, rest, cluster.metadata.deletionTimestamp]);
    last.set(name, { version, facts });
    return known?.facts !== facts;
  };
}
