// Removal of content waits while apps may run on other clusters: what runs there is not read yet, so it cannot be counted as used.
import { Cluster } from "../../crds/cluster/cluster.ts";
import type { Reader } from "../../kube/cache/reader.ts";

/** The kind that says whether there are any. */
export const OTHER_CLUSTERS = Cluster;

/** @throws Error while there is a Cluster; NotSynced, NotPermitted while that is not known */
export function requireNoOtherClusters(read: Reader): void {
  const [cluster, ...more] = read.list(OTHER_CLUSTERS);
  if (!cluster) return;
  const names = [cluster, ...more].map(({ metadata }) => metadata.name).slice(0, 5);
  throw new Error(
    `apps may run on other clusters (${names.join(", ")}), and what they use there is not known: unused content stays`,
  );
}
