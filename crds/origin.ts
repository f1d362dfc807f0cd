// The uid and times of the original that an imported object shows: annotations that only the platform and admins may set (admission policy origin.cupola.dev). Pure.
import { lastWriteTime } from "../kube/api/managed-fields.ts";
import type { KubeObject } from "../kube/api/object.ts";
import { IMPORT_FIELD_MANAGER, isControllerManager } from "./groups.ts";
import { ANNOTATIONS } from "./labels.ts";

type WithMetadata = Pick<KubeObject, "metadata">;

/** The uid that GUIDs derive from: that of the original, where there is one. */
export function originalUidOf({ metadata: { annotations, uid = "" } }: WithMetadata): string {
  return annotations?.[ANNOTATIONS.originalUid] ?? uid;
}

/** When it was created, or its original; undefined for an object that is only drafted. RFC 3339, whole seconds. */
export function createdTimeOf({ metadata: { annotations, creationTimestamp } }: WithMetadata): string | undefined {
  return toValidTime(annotations?.[ANNOTATIONS.originalCreated]) ?? creationTimestamp;
}

/** When somebody last wrote it since it was imported, if it was; undefined when nobody did. Reads managedFields, which caches drop. */
export function lastWriteOf(object: KubeObject): string | undefined {
  const time = lastWriteTime(object, isControllerManager);
  const imported = object.metadata.managedFields?.find(({ manager }) => manager === IMPORT_FIELD_MANAGER)?.time;
  return time !== undefined && imported !== undefined && time <= imported ? undefined : time;
}

/** When somebody last wrote the original; undefined for an object that was not imported. */
export function originalUpdateOf({ metadata: { annotations } }: WithMetadata): string | undefined {
  return toValidTime(annotations?.[ANNOTATIONS.originalUpdated]);
}

/** An admin may annotate anything. */
function toValidTime(time: string | undefined): string | undefined {
  return time === undefined || Number.isNaN(Date.parse(time)) ? undefined : time;
}
