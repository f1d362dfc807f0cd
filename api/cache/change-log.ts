// The latest changes of a kind in order, so that a remembered list takes over what has changed and is not found again.
import { creationSortKey } from "../../crds/guid.ts";
import type { KubeObject } from "../../kube/api/object.ts";

/** An object that changed: its name, to find it as it is now, and where a list has it that does not know the change yet. */
export interface ObjectChange {
  namespace: string;
  name: string;
  uid: string;
  /** Its place before the change. */
  placeBefore: string;
}

/** Where an object is in the order of creation: no two have the same place, not even copies with one GUID. */
export function placeOf(object: KubeObject): string {
  let place = places.get(object);
  if (place === undefined) {
    place = toPlace(object);
    places.set(object, place);
  }
  return place;
}

function toPlace(object: KubeObject): string {
  return `${creationSortKey(object)} ${object.metadata.uid ?? ""}`;
}

/** Places of objects that lists have sorted: cached objects do not change. */
const places = new WeakMap<object, string>();

export interface ChangeLog {
  /** Grows with every change. */
  readonly position: number;
  /** How often `reset` was called. */
  readonly resets: number;
  /** `before`: the object as lists may have it. */
  add(before: KubeObject): void;
  /** Any object may have changed: no change before this is told any more. */
  reset(): void;
  /** The changes since a position; undefined when they are not all known. */
  since(position: number): readonly ObjectChange[] | undefined;
}

/** So many changes are told at least; a list that is asked for more seldom is found again. */
const KEPT_CHANGES = 1000;

export function createChangeLog(kept = KEPT_CHANGES): ChangeLog {
  let entries: ObjectChange[] = [];
  let first = 0;
  let resets = 0;
  return {
    get position() {
      return first + entries.length;
    },
    get resets() {
      return resets;
    },
    add(before) {
      const { namespace = "", name, uid = "" } = before.metadata;
      entries.push({ namespace, name, uid, placeBefore: places.get(before) ?? toPlace(before) });
      if (entries.length < 2 * kept) return;
      first += entries.length - kept;
      entries = entries.slice(-kept);
    },
    reset() {
      // The next version, so that a list of this very moment is not current either.
      first += entries.length + 1;
      entries = [];
      resets++;
    },
    since: (position) => (position < first ? undefined : entries.slice(position - first)),
  };
}
