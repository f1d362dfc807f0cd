// What `metadata.managedFields` tells: who wrote when. The entries are dropped from caches, so this is asked before that.
import type { KubeObject, ManagedFieldsEntry } from "./object.ts";

/** The newest time at which anybody but `isOurs` wrote anything but the status; undefined when nobody did. RFC 3339, whole seconds. */
export function lastWriteTime(object: KubeObject, isOurs: (manager: string) => boolean): string | undefined {
  let newest: string | undefined;
  for (const entry of object.metadata.managedFields ?? []) {
    if (entry.subresource === "status" || isOurs(entry.manager ?? "")) continue;
    if (entry.time !== undefined && (newest === undefined || entry.time > newest)) newest = entry.time;
  }
  return newest;
}

/** The entry of a manager that applied the object itself (not a subresource). */
export function appliedFields(object: KubeObject, manager: string): ManagedFieldsEntry | undefined {
  return object.metadata.managedFields?.find(
    (entry) => entry.manager === manager && entry.operation === "Apply" && !entry.subresource,
  );
}

/** Drops managedFields but for what the named managers applied. Changes the object. */
export function stripManagedFields<T extends KubeObject>(object: T, keep: ReadonlySet<string>): T {
  if (!object.metadata.managedFields) return object;
  const kept =
    keep.size > 0
      ? object.metadata.managedFields.filter(
          (entry) => entry.operation === "Apply" && !entry.subresource && keep.has(entry.manager ?? ""),
        )
      : [];
  // Assigning keeps the object's shape, which deleting would not.
  object.metadata.managedFields = kept.length > 0 ? kept : undefined;
  return object;
}
