// created_at and updated_at of objects. managedFields are dropped from the cache, so the time of the last write is noted before.
import { API_MANAGER, CONTROLLER_MANAGER_PREFIX } from "../../crds/groups.ts";
import { lastWriteTime } from "../../kube/api/managed-fields.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { timestamp } from "../http/timestamps.ts";

const lastWrites = new WeakMap<object, string>();

function isPlatform(manager: string): boolean {
  return manager !== API_MANAGER && manager.startsWith(CONTROLLER_MANAGER_PREFIX);
}

/** For a watch: notes when a person (or this API for one) last wrote. Keyed by metadata, which later stages keep. */
export function keepUpdatedAt<T extends KubeObject>(object: T): T {
  const time = lastWriteTime(object, isPlatform);
  if (time) lastWrites.set(object.metadata, time);
  return object;
}

/** `created_at`, in CF's form. */
export function createdAt(object: KubeObject): string {
  return timestamp(object.metadata.creationTimestamp ?? 0);
}

/** `updated_at`: the newest write that was not the platform's own housekeeping. */
export function updatedAt(object: KubeObject): string {
  return timestamp(lastWrites.get(object.metadata) ?? object.metadata.creationTimestamp ?? 0);
}
