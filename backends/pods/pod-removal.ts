// Which pods of an LRP its runner deletes. Pure.
import { toWantedIndex } from "../../crds/lrp/index-pool.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { isEvicted, keptEvictions } from "./evictions.ts";
import { isLive } from "./pod-progress.ts";
import type { PodObject } from "./slim-pod.ts";

type IndexOf = (pod: PodObject) => number | undefined;

/**
 * Pods whose instance has a restart value that the LRP's status does not show yet. An instance without a status has not run since the
 * request, so that there is nothing to restart.
 */
export function listPodsToRestart({ spec, status }: LRP, pods: readonly PodObject[], indexOf: IndexOf): PodObject[] {
  const isWanted = toWantedIndex(spec);
  const requested = spec.restartInstances ?? {};
  const shown = new Map((status?.instances ?? []).map((instance) => [instance.index, instance]));
  return pods.filter((pod) => {
    const index = indexOf(pod);
    if (index === undefined || !isWanted(index) || !isLive(pod)) return false;
    const value = requested[String(index)];
    const instance = shown.get(index);
    return value !== undefined && instance !== undefined && instance.restart !== value;
  });
}

/** Pods that the cluster has ended, but for those of each index that say why. Nothing else removes them before there are thousands. */
export function listObsoletePods(pods: readonly PodObject[], indexOf: IndexOf): PodObject[] {
  const kept = new Set([...keptEvictions(pods, indexOf).values()].flat());
  return pods.filter((pod) => isEvicted(pod) && !kept.has(pod));
}
