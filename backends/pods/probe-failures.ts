// Failed probes of pods. Kubelet says them in Events only, so runners watch those of reason Unhealthy. Pure.
import type { Event as EventType } from "kubernetes-types/core/v1.js";
import { Event, Pod, type Builtin } from "../../kube/api/builtin.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { watch, type WatchRule } from "../../kube/controller/controller.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { LABELS } from "../../crds/labels.ts";
import type { PodObject } from "./slim-pod.ts";

/** One kind of failure; kubelet counts repetitions in the same Event. */
export interface ProbeFailure {
  probe: "Startup" | "Liveness" | "Readiness";
  why: string;
  /** Last time (RFC 3339, whole seconds). */
  at: string;
}

type EventObject = Builtin<EventType>;
const POD_INDEX = "pod";

/** An Event about a pod of an LRP enqueues the LRP. Needs `watchPods`. */
export function watchProbeFailures(): WatchRule {
  const lrpOf = ({ metadata, involvedObject }: EventObject, read: Reader) => {
    const pod = read.find(Pod, { namespace: metadata.namespace ?? "", name: involvedObject.name ?? "" });
    const name = pod?.metadata.labels?.[LABELS.lrp];
    return name === undefined ? [] : [{ namespace: metadata.namespace ?? "", name }];
  };
  return watch(Event, lrpOf, {
    fieldSelector: "involvedObject.kind=Pod,reason=Unhealthy",
    transform: slimEvent,
    indexes: { [POD_INDEX]: ({ involvedObject }) => [involvedObject.uid ?? ""] },
  });
}

function slimEvent({ apiVersion, kind, metadata, involvedObject, message, ...times }: EventObject): EventObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { lastTimestamp } = times;
  return {
    apiVersion,
    kind,
    metadata: { name, ...omitUndefined({ namespace, uid, resourceVersion, creationTimestamp }) },
    involvedObject: omitUndefined({ uid: involvedObject.uid, name: involvedObject.name }),
    ...omitUndefined({ message: message?.slice(0, 1024), lastTimestamp }),
  };
}

/** The failed probes of a pod, oldest first. */
export function listProbeFailures(read: Reader, { metadata }: PodObject): ProbeFailure[] {
  return read
    .byIndex(Event, POD_INDEX, metadata.uid ?? "", metadata.namespace)
    .flatMap(toProbeFailure)
    .toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

function toProbeFailure({ metadata, message = "", lastTimestamp }: EventObject): ProbeFailure[] {
  const [, probe, why] = /^(Startup|Liveness|Readiness) probe failed: (.*)$/s.exec(message) ?? [];
  if (probe === undefined || why === undefined) return [];
  const at = lastTimestamp ?? metadata.creationTimestamp ?? "";
  return [{ probe: probe as ProbeFailure["probe"], why: describeFailure(why), at }];
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
