// An RBAC index fed by four stores, like the informers of kube-apiserver's authorizer.
import type { KubeObject } from "../api/object.ts";
import type { Store } from "../cache/reader.ts";
import { createRbacIndex, type RbacIndex } from "./rbac-index.ts";
import type { RbacKind, RbacObject } from "./types.ts";

/** Keeps an index current for as long as the stores live. The caller checks whether the stores are synced. */
export function createWatchedRbacIndex(stores: Record<RbacKind, Store>): RbacIndex {
  const index = createRbacIndex();
  for (const [kind, store] of Object.entries(stores) as [RbacKind, Store][]) syncFromStore(index, kind, store);
  return index;
}

function syncFromStore(index: RbacIndex, kind: RbacKind, store: Store): void {
  const set = (object: KubeObject): void => index.set(kind, object as unknown as RbacObject);
  store.onChange((change) => {
    if (change.type === "deleted") index.remove(kind, change.object.metadata);
    else set(change.object);
  });
  if (store.synced) for (const object of store.list({ partial: true })) set(object);
}
