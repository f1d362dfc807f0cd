// All objects of one resource in memory, in the order of lists, with their recent history.
import type { KubeObject } from "../../../kube/api/object.ts";
import { createHistory, type HistoryEntry } from "./history.ts";

export interface Table {
  find(namespace: string, name: string): KubeObject | undefined;
  /** Sorted by namespace, then name. The array is shared: do not change it. */
  list(namespace?: string): KubeObject[];
  count(namespace?: string): number;
  /** Changes after a version; undefined when the history does not reach back that far. */
  since(version: number): HistoryEntry[] | undefined;
  /** The list as it was at a version; undefined when the history does not reach back that far. */
  listAt(version: number, namespace?: string): KubeObject[] | undefined;
  subscribe(onChange: (entry: HistoryEntry) => void): () => void;
}

export interface WritableTable extends Table {
  load(object: KubeObject): void;
  /** @param size of the change, in characters of JSON. */
  record(entry: HistoryEntry, size: number): void;
}

interface Shelf {
  objects: Map<string, KubeObject>;
  sorted?: KubeObject[];
}

const byName = (a: KubeObject, b: KubeObject) => (a.metadata.name < b.metadata.name ? -1 : 1);

/**
 * @param startRevision the version before which nothing is known (the store's version when it was opened).
 * @param dispatch hands a change to a subscriber.
 */
export function createTable(startRevision: number, dispatch: (subscriber: () => void) => void): WritableTable {
  const shelves = new Map<string, Shelf>();
  const subscribers = new Set<(entry: HistoryEntry) => void>();
  let all: KubeObject[] | undefined;
  const history = createHistory(startRevision);

  function put(object: KubeObject, isNew: boolean): void {
    const namespace = object.metadata.namespace ?? "";
    let shelf = shelves.get(namespace);
    if (!shelf) shelves.set(namespace, (shelf = { objects: new Map() }));
    shelf.objects.set(object.metadata.name, object);
    all = undefined;
    if (isNew || !shelf.sorted) shelf.sorted = undefined;
    else replaceIn(shelf.sorted, object);
  }

  function drop(object: KubeObject): void {
    const namespace = object.metadata.namespace ?? "";
    const shelf = shelves.get(namespace);
    if (!shelf) return;
    shelf.objects.delete(object.metadata.name);
    shelf.sorted = undefined;
    all = undefined;
    if (shelf.objects.size === 0) shelves.delete(namespace);
  }

  function sortedShelf(namespace: string): KubeObject[] {
    const shelf = shelves.get(namespace);
    if (!shelf) return [];
    return (shelf.sorted ??= [...shelf.objects.values()].sort(byName));
  }

  return {
    find: (namespace, name) => shelves.get(namespace)?.objects.get(name),
    list(namespace) {
      return namespace ? sortedShelf(namespace) : (all ??= [...shelves.keys()].sort().flatMap(sortedShelf));
    },
    count: (namespace) => countObjects(shelves, namespace),
    since: (version) => history.since(version),
    listAt(version, namespace) {
      const later = history.since(version);
      return (
        later &&
        undo(
          [...shelves.values()].flatMap((shelf) => [...shelf.objects.values()]),
          later,
        ).filter((object) => !namespace || object.metadata.namespace === namespace)
      );
    },
    subscribe(onChange) {
      subscribers.add(onChange);
      return () => subscribers.delete(onChange);
    },
    load: (object) => put(object, true),
    record(entry, size) {
      if (entry.type === "DELETED") drop(entry.object);
      else put(entry.object, entry.type === "ADDED");
      history.add(entry, size);
      for (const subscriber of [...subscribers]) dispatch(() => subscriber(entry));
    },
  };
}

function countObjects(shelves: Map<string, Shelf>, namespace: string | undefined): number {
  return namespace
    ? (shelves.get(namespace)?.objects.size ?? 0)
    : shelves.values().reduce((total, shelf) => total + shelf.objects.size, 0);
}

const keyOf = ({ metadata }: KubeObject) => `${metadata.namespace ?? ""}/${metadata.name}`;

/** The objects before some changes, sorted as lists are. */
function undo(objects: KubeObject[], changes: HistoryEntry[]): KubeObject[] {
  const before = new Map(objects.map((object) => [keyOf(object), object]));
  for (const { object, oldObject } of changes.toReversed()) {
    if (oldObject) before.set(keyOf(object), oldObject);
    else before.delete(keyOf(object));
  }
  const namespaceOf = ({ metadata }: KubeObject) => metadata.namespace ?? "";
  return [...before.values()].sort((a, b) =>
    namespaceOf(a) === namespaceOf(b) ? byName(a, b) : namespaceOf(a) < namespaceOf(b) ? -1 : 1,
  );
}

function replaceIn(sorted: KubeObject[], object: KubeObject): void {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.metadata.name ?? "") < object.metadata.name) low = middle + 1;
    else high = middle;
  }
  sorted[low] = object;
}
