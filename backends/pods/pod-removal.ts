// Which pods of an LRP its runner deletes. Pure.
import type { LRP } from "../../crds/lrp/lrp.ts";
import { isEvicted } from "./instance-status.ts";
import { isLive } from "./pod-progress.ts";
import type { PodObject } from "./slim-pod.ts";

type IndexOf = (pod: PodObject) => number | undefined;

/**
 * Pods whose instance has a restart value that the LRP's status does not show yet. An instance without a status has not run since the
 * request, so that there is nothing to restart.
 */
export function listPodsToRestart({ spec, status }: LRP, pods: readonly PodObject[], indexOf: IndexOf): PodObject[] {
  const requested = spec.restartInstances ?? {};
  const shown = new Map((status?.instances ?? []).map((instance) => [instance.index, instance]));
  return pods.filter((pod) => {
    const index = indexOf(pod);
    if (index === undefined || index >= spec.instances || !isLive(pod)) return false;
    const value = requested[String(index)];
    const instance = shown.get(index);
    return value !== undefined && instance !== undefined && instance.restart !== value;
  });
}

/** Pods that the cluster has ended, but for the newest of each index, which says why. Nothing else removes them before there are thousands. */
export function listObsoletePods(pods: readonly PodObject[], indexOf: IndexOf): PodObject[] {
  const created = ({ metadata }: PodObject): string => metadata.creationTimestamp ?? "";
  const ended = pods.filter(isEvicted).toSorted((a, b) => (created(a) < created(b) ? 1 : -1));
  const seen = new Set<number | undefined>();
  return ended.filter((pod) => {
    const index = indexOf(pod);
    const isKept = index !== undefined && !seen.has(index);
    seen.add(index);
    return !isKept;
  });
}
