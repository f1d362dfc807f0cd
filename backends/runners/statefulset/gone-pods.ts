// Evicted pods that are gone: the StatefulSet controller deletes them at once, and only kubelet's Events still say why. Pure.
import { wantedIndexes } from "../../../crds/lrp/index-pool.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import { isEvicted } from "../../pods/evictions.ts";
import { listEventsByPodName, timeOf, watchPodEvents, type EventObject } from "../../pods/pod-events.ts";
import { isLive } from "../../pods/pod-progress.ts";
import type { PodObject } from "../../pods/slim-pod.ts";
import type { WatchRule } from "../../../kube/controller/controller.ts";
import { indexLabels, podNameOf } from "./plan.ts";

/** Failed probes are among them, too: a controller watches Events once. Needs `watchPods`. */
export function watchKubeletWarnings(): WatchRule {
  return watchPodEvents("type=Warning,source=kubelet");
}

/** As they were when kubelet evicted them. `pods` are those that exist. */
export function listGonePods(read: Reader, lrp: LRP, pods: readonly PodObject[]): PodObject[] {
  const { namespace = "" } = lrp.metadata;
  const present = new Set(pods.filter((pod) => isLive(pod) || isEvicted(pod)).map(({ metadata }) => metadata.uid));
  return wantedIndexes(lrp.spec).flatMap((index) =>
    listEventsByPodName(read, podNameOf(lrp, index), namespace)
      .filter(({ reason, involvedObject }) => reason === "Evicted" && !present.has(involvedObject.uid))
      .map((event) => toPod(event, index)),
  );
}

function toPod(event: EventObject, index: number): PodObject {
  const { name = "", uid = "" } = event.involvedObject;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, uid, creationTimestamp: timeOf(event), labels: indexLabels(index) },
    status: { phase: "Failed", reason: "Evicted", message: event.message ?? "" },
  };
}
