// Contents of a store: cached objects, and tombstones of evicted ones. Emits every difference; knows nothing of watches.
import { Tombstones } from "./tombstones.ts";
import type { KubeObject } from "../api/object.ts";
import { ObjectTable, tableKey } from "./object-table.ts";
import type { Change } from "./reader.ts";

/** Why a namespace is no longer watched: it was deleted, it no longer matches the scope, or its state is unknown because namespaces cannot be read. */
export type NamespaceRemoval = "deleted" | "unselected" | "unknown";

export interface StoreContentsOptions<T> {
  /** Deep-freezes objects, so that a mutation throws. */
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

  /** Replaces the contents, of one namespace or of all; absent objects are deleted. */
  replaceAll(objects: readonly T[], namespace?: string): void {
    const keys = new Set(objects.map(tableKey));
    for (const key of this.#keysIn(namespace)) {
      const object = keys.has(key) ? undefined : this.table.objects.get(key);
      if (object) this.remove(key, object, true);
    }
    for (const key of this.tombstones.keys(namespace)) if (!keys.has(key)) this.#confirmDeleted(key);
    for (const object of objects) this.upsert(object, true);
  }

  /** Drops the objects and keeps tombstones, without events. */
  evict(namespace?: string): void {
    for (const key of this.#keysIn(namespace)) {
      const object = this.table.objects.get(key);
      if (!object) continue;
      this.tombstones.add(object, this.table.indexedValues(object));
      this.table.set(key, undefined);
    }
  }

  /** Emits the deletion of an evicted object, if there is a tombstone. */
  #confirmDeleted(key: string): void {
    const tombstone = this.tombstones.take(key) as T | undefined;
    if (tombstone)
      this.#options.onChange({ type: "deleted", object: tombstone, old: tombstone, initial: true, evicted: true });
  }

  /** `initial`: found by a list. */
  upsert(object: T, initial: boolean): void {
    const key = tableKey(object);
    const tombstone = this.tombstones.take(key) as T | undefined;
    const before = tombstone ?? this.table.objects.get(key);
    const evicted = tombstone && ({ evicted: true } as const);
    if (!before || !isSameUid(before, object)) return this.#add(object, { before, initial, ...evicted });
    const unchanged = before.metadata.resourceVersion === object.metadata.resourceVersion;
    if (unchanged && !initial) return;
    // A relist may have transformed the same version differently: store it without an event.
    this.#set(object);
    if (!unchanged) this.#options.onChange({ type: "modified", object, old: before, initial, ...evicted });
  }

  /** Adds a new object; an old one of the same name is deleted first. */
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

  /** `last` is the object at its deletion. */
  remove(key: string, last: T, initial: boolean): void {
    const old = this.table.objects.get(key);
    if (!old) return this.#confirmDeleted(key);
    this.table.set(key, undefined);
    this.#options.onChange({ type: "deleted", object: last, old, initial });
  }

  /** Stops serving a namespace. Objects of a deleted namespace are deleted; those of an unknown one leave tombstones. */
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
