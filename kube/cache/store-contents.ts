// What a store holds: the objects in sight, and who those were that are not. Tells every difference; knows nothing of watches and their states.
import { Tombstones } from "./tombstones.ts";
import type { KubeObject } from "../api/object.ts";
import { ObjectTable, tableKey } from "./object-table.ts";
import type { Change } from "./reader.ts";

/** What became of a namespace that is watched no longer: it does not exist any more, it is not ours, or it may be there and ours. */
export type NamespaceRemoval = "deleted" | "unselected" | "unknown";

export interface StoreContentsOptions<T> {
  /** Deep-freezes objects, so that a reader that changes one throws. */
  freeze: boolean;
  onFault: (error: unknown) => void;
  onChange: (change: Change<T>) => void;
}

export class StoreContents<T extends KubeObject> {
  readonly table: ObjectTable<T>;
  readonly tombstones = new Tombstones();
  readonly #options: StoreContentsOptions<T>;

  constructor(options: StoreContentsOptions<T>) {
    this.#options = options;
    this.table = new ObjectTable<T>(options.onFault);
  }

  #keysIn(namespace: string | undefined): string[] {
    return namespace === undefined ? [...this.table.objects.keys()] : this.table.list({ namespace }).map(tableKey);
  }

  /** These are all there are, in the namespace or everywhere; what is not among them is deleted. */
  replaceAll(objects: readonly T[], namespace?: string): void {
    const keys = new Set(objects.map(tableKey));
    for (const key of this.#keysIn(namespace)) {
      const object = keys.has(key) ? undefined : this.table.objects.get(key);
      if (object) this.remove(key, object, true);
    }
    for (const key of this.tombstones.keys(namespace)) if (!keys.has(key)) this.#confirmDeleted(key);
    for (const object of objects) this.upsert(object, true);
  }

  /** Out of sight: the objects are dropped, and who they were is kept. Nobody is told. */
  evict(namespace?: string): void {
    for (const key of this.#keysIn(namespace)) {
      const object = this.table.objects.get(key);
      if (!object) continue;
      this.tombstones.add(object, this.table.indexedValues(object));
      this.table.set(key, undefined);
    }
  }

  /** Somebody whom we lost sight of has gone meanwhile. */
  #confirmDeleted(key: string): void {
    const ghost = this.tombstones.take(key) as T | undefined;
    if (ghost) this.#options.onChange({ type: "deleted", object: ghost, old: ghost, initial: true, evicted: true });
  }

  /** `initial`: found by a list. */
  upsert(object: T, initial: boolean): void {
    const key = tableKey(object);
    const ghost = this.tombstones.take(key) as T | undefined;
    const before = ghost ?? this.table.objects.get(key);
    const evicted = ghost && ({ evicted: true } as const);
    if (!before || !isSameUid(before, object)) return this.#add(object, { before, initial, ...evicted });
    const unchanged = before.metadata.resourceVersion === object.metadata.resourceVersion;
    if (unchanged && !initial) return;
    // A relist may have prepared the same version in another way, so it is taken, silently.
    this.#set(object);
    if (!unchanged) this.#options.onChange({ type: "modified", object, old: before, initial, ...evicted });
  }

  /** A new object, perhaps in the place of another one of its name. */
  #add(object: T, { before, initial, evicted }: { before: T | undefined; initial: boolean; evicted?: true }): void {
    if (before) {
      this.table.set(tableKey(object), undefined);
      this.#options.onChange({ type: "deleted", object: before, old: before, initial, ...(evicted && { evicted }) });
    }
    this.#set(object);
    this.#options.onChange({ type: "added", object, initial });
  }

  #set(object: T): void {
    if (this.#options.freeze) deepFreeze(object);
    this.table.set(tableKey(object), object);
  }

  /** `last` is the object as it was when it went. */
  remove(key: string, last: T, initial: boolean): void {
    const old = this.table.objects.get(key);
    if (!old) return this.#confirmDeleted(key);
    this.table.set(key, undefined);
    this.#options.onChange({ type: "deleted", object: last, old, initial });
  }

  /** Drops a namespace that is no longer looked at. Of one that is gone all is deleted; of one that is only unseen it is kept who was there. */
  removeNamespace(namespace: string, reason: NamespaceRemoval): void {
    if (reason === "deleted") return this.replaceAll([], namespace);
    this.evict(namespace);
    if (reason === "unselected") for (const key of this.tombstones.keys(namespace)) this.tombstones.take(key);
  }
}

function isSameUid(one: KubeObject, other: KubeObject): boolean {
  return one.metadata.uid === other.metadata.uid;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
