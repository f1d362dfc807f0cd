// Which clusters are to have a ClusterBundle, and what its condition says. Pure.
import type { Cluster } from "../../crds/cluster/cluster.ts";
import { CLUSTER_NAME_LABEL } from "../../crds/cluster/local-cluster.ts";
import type { ClusterBundle, KeptCluster } from "../../crds/cluster-bundle/cluster-bundle.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";

/** Names, in the order in which changes come to them. */
export function chooseClusters({ spec }: ClusterBundle, clusters: readonly Cluster[]): string[] {
  const wanted = Object.entries(spec.clusters.matchLabels);
  return clusters
    .filter(({ metadata: { name, labels, deletionTimestamp } }) => {
      const known: Record<string, string> = { ...labels, [CLUSTER_NAME_LABEL]: name };
      return deletionTimestamp === undefined && wanted.every(([key, value]) => known[key] === value);
    })
    .map(({ metadata }) => metadata.name)
    .toSorted();
}

/** The values of a cluster. */
export function valuesOf({ spec }: ClusterBundle, cluster: string): Record<string, string> {
  return { ...spec.values, ...spec.overrides.find((one) => one.cluster === cluster)?.values };
}

/** Milliseconds until the next cluster may get a change that this one got; 0 once it has had it long enough. */
export function soakLeft({ spec }: ClusterBundle, { since }: Pick<KeptCluster, "since">, now: Date): number {
  if (since === undefined) return 0;
  return Math.max(0, Date.parse(since) + spec.soakSeconds * 1000 - now.getTime());
}

export function toReady(wanted: readonly string[], applied: number, kept: readonly KeptCluster[]): ReadyDraft {
  if (wanted.length === 0) return { status: "True", reason: "NoClusters", message: "no cluster has its labels" };
  const problems = kept.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`]));
  if (applied === wanted.length && problems.length === 0)
    return { status: "True", reason: "Applied", message: `applied on ${wanted.join(", ")}` };
  const message = [`applied on ${applied} of ${wanted.length} clusters`, ...problems].join("; ");
  return {
    status: "False",
    reason: problems.length > 0 ? "NotApplied" : "Applying",
    message,
    ...(problems.length > 0 && { isFailure: true as const }),
  };
}
