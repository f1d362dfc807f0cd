// Reads and strips `metadata.managedFields`. Caches strip the entries, so read them before.
import type { KubeObject, ManagedFieldsEntry } from "./object.ts";

/** The newest time of a non-status write by a manager for which `isOurs` is false; undefined without one. RFC 3339, whole seconds. */
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

/** Drops managedFields except what the named managers applied. Mutates the object. */
export function stripManagedFields<T extends KubeObject>(object: T, keep: ReadonlySet<string>): T {
  if (!object.metadata.managedFields) return object;
  const kept =
    keep.size > 0
      ? object.metadata.managedFields.filter(
          (entry) => entry.operation === "Apply" && !entry.subresource && keep.has(entry.manager ?? ""),
        )
      : [];
  // Assigning undefined keeps the object's shape; deleting would not.
  object.metadata.managedFields = kept.length > 0 ? kept : undefined;
  return object;
}
