// Owner references: an index of all objects by uid and of dependents by their owners' uids.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ChangeEvent } from "../types.ts";
import type { Store } from "../storage/store.ts";

export interface Place {
  storageKey: string;
  namespace: string;
  name: string;
}

export interface Owners {
  find(uid: string): Place | undefined;
  dependents(uid: string): Place[];
  stop(): void;
}

const placeOf = (storageKey: string, object: KubeObject): Place => ({
  storageKey,
  namespace: object.metadata.namespace ?? "",
  name: object.metadata.name,
});
const ownersOf = (object: KubeObject | undefined) => (object?.metadata.ownerReferences ?? []).map((owner) => owner.uid);

function placesOf(dependents: Map<string, Map<string, Place>>, owner: string): Map<string, Place> {
  let found = dependents.get(owner);
  if (!found) dependents.set(owner, (found = new Map()));
  return found;
}

/** Follows the store. `onChange` gets every uid whose rest may need cleaning: of changed objects and of owners of new dependents. */
export function indexOwners(store: Store, onChange: (uid: string) => void): Owners {
  const places = new Map<string, Place>();
  const dependents = new Map<string, Map<string, Place>>();

  function add(storageKey: string, object: KubeObject): void {
    const uid = object.metadata.uid ?? "";
    const place = placeOf(storageKey, object);
    places.set(uid, place);
    for (const owner of ownersOf(object)) placesOf(dependents, owner).set(uid, place);
  }

  function drop(object: KubeObject): void {
    const uid = object.metadata.uid ?? "";
    places.delete(uid);
    for (const owner of ownersOf(object)) {
      const found = dependents.get(owner);
      found?.delete(uid);
      if (found?.size === 0) dependents.delete(owner);
    }
  }

  for (const storageKey of store.resources())
    for (const object of store.table(storageKey).list()) add(storageKey, object);
  const unsubscribe = store.subscribe((storageKey, { type, object, oldObject }) => {
    if (oldObject) drop(oldObject);
    if (type !== "DELETED") add(storageKey, object);
    report(type, object, oldObject);
  });

  function report(type: ChangeEvent["type"], object: KubeObject, oldObject: KubeObject | undefined): void {
    const uid = object.metadata.uid ?? "";
    const isInteresting =
      type === "DELETED"
        ? dependents.has(uid)
        : object.metadata.deletionTimestamp !== undefined || ownersOf(object).length > 0;
    if (isInteresting) onChange(uid);
    // An owner that waits for its dependents may go on.
    for (const owner of ownersOf(oldObject)) if (places.has(owner)) onChange(owner);
  }

  return {
    find: (uid) => places.get(uid),
    dependents: (uid) => [...(dependents.get(uid)?.values() ?? [])],
    stop: unsubscribe,
  };
}
