// created_at and updated_at of objects. The cache drops managedFields, so the time of the last write is recorded before.
import { createdTimeOf, lastWriteOf, originalUpdateOf } from "../../crds/origin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { toTime } from "../../kube/api/times.ts";

const lastWrites = new WeakMap<object, string>();

/** A watch's transform: records when a person (or this API for one) last wrote, unless the object says so itself. Keyed by metadata, which later transforms keep. */
export function recordLastWrite<T extends KubeObject>(object: T): T {
  const time = lastWriteOf(object);
  if (time && time !== unrecordedUpdateOf(object)) lastWrites.set(object.metadata, time);
  return object;
}

function unrecordedUpdateOf(object: KubeObject): string | undefined {
  return originalUpdateOf(object) ?? createdTimeOf(object);
}

/** `created_at`, in CF's form. */
export function createdAt(object: KubeObject): string {
  return toTime(createdTimeOf(object) ?? 0);
}

/** `updated_at`: the newest write that was not the platform's own housekeeping. */
export function updatedAt(object: KubeObject): string {
  return toTime(lastWrites.get(object.metadata) ?? unrecordedUpdateOf(object) ?? 0);
}
