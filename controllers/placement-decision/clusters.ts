// The facts about clusters that a placement follows from.
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { CLUSTER_NAME_LABEL, LOCAL_CLUSTER } from "../../crds/cluster/local-cluster.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { createFactFilter } from "../shared/fact-filter.ts";
import { isReachable, silentSince } from "../shared/reachable.ts";
import type { ClusterFacts } from "./plan.ts";

/** The platform's own cluster and all others. */
export function listClusterFacts(read: Reader): ClusterFacts[] {
  return [localFacts(read.list(BackendClass)), ...read.list(Cluster).map(toFacts)];
}

/** As listClusterFacts, with the classes that run tasks. A task is never split. */
export function listTaskClusterFacts(read: Reader): ClusterFacts[] {
  const toRunners = (classes: readonly { role: string; name: string }[]): ClusterFacts["runners"] =>
    new Map(classes.filter(({ role }) => role === "task-runner").map(({ name }) => [name, undefined]));
  const own = read.list(BackendClass);
  const ownClasses = own.map(({ metadata: { name }, spec: { role } }) => ({ role, name }));
  return [
    { ...localFacts(own), runners: toRunners(ownClasses) },
    ...read.list(Cluster).map((one) => ({ ...toFacts(one), runners: toRunners(one.status?.classes ?? []) })),
  ];
}

export function localFacts(classes: readonly BackendClass[]): ClusterFacts {
  const runners = classes.filter(({ spec }) => spec.role === "runner");
  return {
    name: LOCAL_CLUSTER,
    labels: { [CLUSTER_NAME_LABEL]: LOCAL_CLUSTER },
    taints: [],
    cordoned: false,
    draining: false,
    givenUp: false,
    reachable: true,
    silentSince: undefined,
    weight: 100,
    freeMemoryMB: undefined,
    freePercent: undefined,
    runners: new Map(runners.map(({ metadata, status }) => [metadata.name, status?.capabilities?.["indexes"]])),
  };
}

export function toFacts(cluster: Cluster): ClusterFacts {
  const { metadata, spec, status } = cluster;
  const runners = (status?.classes ?? []).filter(({ role }) => role === "runner");
  const capacity = status?.capacity;
  return {
    name: metadata.name,
    labels: { ...metadata.labels, [CLUSTER_NAME_LABEL]: metadata.name },
    taints: spec.taints.map(({ key }) => key),
    cordoned: spec.cordoned,
    draining: spec.drain,
    givenUp: metadata.deletionTimestamp !== undefined,
    reachable: isReachable(cluster),
    silentSince: silentSince(cluster),
    weight: spec.weight,
    freeMemoryMB: capacity && Math.max(capacity.memoryMB - capacity.requestedMemoryMB, 0),
    freePercent: capacity && Math.floor(capacity.freePercent / 10) * 10,
    runners: new Map(runners.map(({ name, indexes }) => [name, indexes])),
  };
}

/** A function that says whether a change of a Cluster can change a placement: most only count its LRPs. */
export function createChangeFilter(): (cluster: Cluster) => boolean {
  return createFactFilter((cluster) => {
    const { runners, freeMemoryMB, ...rest } = toFacts(cluster);
    // Each count changes the free memory a little; it concerns placements only when it doubles or halves.
    return [...runners, rest, freeMemoryMB === undefined ? -1 : Math.round(Math.log2(freeMemoryMB + 1))];
  });
}

/** As createChangeFilter, for classes of the platform's own cluster. */
export function createRunnerFilter(): (one: BackendClass) => boolean {
  return createFactFilter(({ metadata, spec, status }) => [
    spec.role,
    spec.default,
    status?.capabilities?.["indexes"],
    metadata.deletionTimestamp,
  ]);
}

/** Whether a cluster answers whose instances are not known yet. Those of one that is given up are never read. */
export function hasUnread({ read, clusters }: Pick<ReconcileContext, "read" | "clusters">): boolean {
  return read
    .list(Cluster)
    .filter(({ metadata }) => !metadata.deletionTimestamp)
    .some((cluster) => isReachable(cluster) && !clusters.find(cluster.metadata.name));
}

/** A decision has the name of its Process. */
export function toKey({ metadata }: PlacementDecision): { namespace: string | undefined; name: string } {
  return { namespace: metadata.namespace, name: metadata.name };
}
