// Whether a cluster answers, as its conditions say.
import type { Cluster } from "../../crds/cluster/cluster.ts";

/** False before its first answer, too. */
export function isReachable({ status }: Pick<Cluster, "status">): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Reachable" && is === "True") ?? false;
}

/** Since when a cluster that was known gives no answer at all. Undefined for one that answers, or refuses: its instances may well run. */
export function silentSince({ status }: Pick<Cluster, "status">): number | undefined {
  const condition = status?.conditions?.find(({ type }) => type === "Reachable");
  const isSilent = condition?.status === "False" && condition.reason === "Silent";
  return isSilent && status?.silentSince !== undefined ? Date.parse(status.silentSince) : undefined;
}

/** Since when it does not answer; undefined while it does. */
export function unreachableSince({ metadata, status }: Cluster): string | undefined {
  const condition = status?.conditions?.find(({ type }) => type === "Reachable");
  if (!condition) return metadata.creationTimestamp;
  return condition.status === "True" ? undefined : condition.lastTransitionTime;
}
