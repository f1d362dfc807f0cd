// Follows a store's objects by uid.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { Change, Store } from "../../../kube/cache/reader.ts";

/** Calls `set` for every object and every change, with undefined for a deleted one. */
export function mirror<T extends KubeObject>(
  store: Store<T>,
  set: (uid: string, object: T | undefined) => void,
): () => void {
  const uidOf = (object: T): string => object.metadata.uid ?? "";
  const stop = store.onChange((change: Change<T>) => {
    // A relist may show another object of the same name.
    if (change.type === "modified" && uidOf(change.old) !== uidOf(change.object)) set(uidOf(change.old), undefined);
    set(uidOf(change.object), change.type === "deleted" ? undefined : change.object);
  });
  if (store.synced) for (const object of store.list({ partial: true })) set(uidOf(object), object);
  return stop;
}
