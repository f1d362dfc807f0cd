// Events of kubelet about the pods of LRPs, as runners cache them. Pure.
import type { Event as EventType } from "kubernetes-types/core/v1.js";
import { LABELS } from "../../crds/labels.ts";
import { Event, Pod, type Builtin } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { watch, type WatchRule } from "../../kube/controller/controller.ts";

export type EventObject = Builtin<EventType>;

const BY_UID = "pod";
const BY_NAME = "podName";

/** An Event about a pod of an LRP enqueues the LRP. Needs `watchPods`. `fieldSelector` is added to that of Events about pods. */
export function watchPodEvents(fieldSelector: string): WatchRule {
  const lrpOf = ({ metadata, involvedObject }: EventObject, read: Reader) => {
    const pod = read.find(Pod, { namespace: metadata.namespace ?? "", name: involvedObject.name ?? "" });
    const name = pod?.metadata.labels?.[LABELS.lrp];
    return name === undefined ? [] : [{ namespace: metadata.namespace ?? "", name }];
  };
  return watch(Event, lrpOf, {
    fieldSelector: `involvedObject.kind=Pod,${fieldSelector}`,
    transform: slimEvent,
    indexes: {
      [BY_UID]: ({ involvedObject }) => [involvedObject.uid ?? ""],
      [BY_NAME]: ({ involvedObject }) => [involvedObject.name ?? ""],
    },
  });
}

function slimEvent({ apiVersion, kind, metadata, involvedObject, message, ...more }: EventObject): EventObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { reason, lastTimestamp } = more;
  return {
    apiVersion,
    kind,
    metadata: { name, ...omitUndefined({ namespace, uid, resourceVersion, creationTimestamp }) },
    involvedObject: omitUndefined({ uid: involvedObject.uid, name: involvedObject.name }),
    ...omitUndefined({ reason, message: message?.slice(0, 1024), lastTimestamp }),
  };
}

/** Those about this very pod. */
export function listPodEvents(read: Reader, { uid, namespace }: KubeObject["metadata"]): readonly EventObject[] {
  return read.byIndex(Event, BY_UID, uid ?? "", namespace);
}

/** Those about every pod that had the name. */
export function listEventsByPodName(read: Reader, name: string, namespace: string): readonly EventObject[] {
  return read.byIndex(Event, BY_NAME, name, namespace);
}

/** When it happened last (RFC 3339, whole seconds). */
export function timeOf({ metadata, lastTimestamp }: EventObject): string {
  return lastTimestamp ?? metadata.creationTimestamp ?? "";
}
