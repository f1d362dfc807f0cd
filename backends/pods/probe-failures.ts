// Failed probes of pods. Kubelet says them in Events only, so runners watch those of reason Unhealthy. Pure.
import type { WatchRule } from "../../kube/controller/controller.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { listPodEvents, timeOf, watchPodEvents, type EventObject } from "./pod-events.ts";
import type { PodObject } from "./slim-pod.ts";

/** A kind of failure; kubelet counts repetitions in the same Event. */
export interface ProbeFailure {
  probe: "Startup" | "Liveness" | "Readiness";
  why: string;
  /** Last time (RFC 3339, whole seconds). */
  at: string;
}

/** Events of them about a pod of an LRP enqueue the LRP. Needs `watchPods`. */
export function watchProbeFailures(): WatchRule {
  return watchPodEvents("reason=Unhealthy");
}

/** The failed probes of a pod, oldest first. */
export function listProbeFailures(read: Reader, { metadata }: PodObject): ProbeFailure[] {
  return listPodEvents(read, metadata)
    .flatMap(toProbeFailure)
    .toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

function toProbeFailure(event: EventObject): ProbeFailure[] {
  const [, probe, why] = /^(Startup|Liveness|Readiness) probe failed: (.*)$/s.exec(event.message ?? "") ?? [];
  if (probe === undefined || why === undefined) return [];
  return [{ probe: probe as ProbeFailure["probe"], why: describeFailure(why), at: timeOf(event) }];
}

/** Kubelet's words name the pod's address, which tells a user nothing. */
function describeFailure(why: string): string {
  return why
    .trim()
    .replace(/\s+/g, " ")
    .replace(/^Get "[^"]*": /, "")
    .replace(/^dial tcp [^ ]*:(\d+): (connect|i\/o): /, "port $1: ")
    .replace(/^dial tcp [^ ]*:(\d+): /, "port $1: ");
}
