// The cache of one watch: what was seen, the version reached, and whoever waits for it. Fed by a reflector.
import { keyOf, type KubeObject, type ObjectKey } from "./object.ts";
import { ObjectTable, tableKey } from "./object-table.ts";
import { type Change, type IndexFunction, type ListFilter, NotInCache, NotPermitted, NotSynced, type OrderFunction, type ParkReason, type Store, type WatchState } from "./reader.ts";
import { resourceId, type ResourceRef } from "./resource-ref.ts";
import { createWaiters } from "./waiters.ts";

export interface StoreOptions<T extends KubeObject> {
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  orders?: Readonly<Record<string, OrderFunction<T>>>;
  /** Deep-freezes objects, so that a reader that changes one throws. For tests. */
  freeze?: boolean;
  /** A listener or an index function threw. */
  onFault: (error: unknown) => void;
}

/** Compares two resourceVersions; false when either is not a number. */
export function hasReached(current: string, wanted: string): boolean {
  return /^\d+$/.test(current) && /^\d+$/.test(wanted) && BigInt(current) >= BigInt(wanted);
}

/**
 * A Store with its feeding side. Feeding is synchronous and in order.
 * Parking makes the objects unreadable but remembers them, so that the next `replace` tells what was really deleted.
 */
export class FedStore<T extends KubeObject> implements Store<T> {
  readonly ref: ResourceRef<T>;
  readonly #resource: string;
  readonly #table: ObjectTable<T>;
  readonly #options: StoreOptions<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #stateListeners = new Set<(state: WatchState) => void>();
  readonly #waiters = createWaiters();
  #state: WatchState = "listing";
  #parkReason: ParkReason | undefined;
  #resourceVersion = "";
  #filled = false;

  constructor(ref: ResourceRef<T>, options: StoreOptions<T>) {
    this.ref = ref;
    this.#resource = resourceId(ref);
    this.#options = options;
    this.#table = new ObjectTable<T>(options.onFault);
    for (const [name, of] of Object.entries(options.indexes ?? {})) this.addIndex(name, of);
    for (const [name, of] of Object.entries(options.orders ?? {})) this.addOrder(name, of);
  }

  // Reading

  find(key: ObjectKey): T | undefined {
    return this.#seen().objects.get(keyOf(key));
  }

  get(key: ObjectKey): T {
    const object = this.find(key);
    if (!object) throw new NotInCache(this.#resource, key);
    return object;
  }

  getMany(keys: readonly ObjectKey[]): T[] {
    return this.#seen().pick(keys.map((key) => keyOf(key)));
  }

  list(filter: ListFilter = {}): T[] {
    return this.#seen().list(filter);
  }

  byIndex(index: string, value: string): T[] {
    return this.#seen().byIndex(index, value);
  }

  byUid(uid: string): T | undefined {
    return this.#seen().byUid(uid);
  }

  ordered(order: string, { reverse = false }: { reverse?: boolean } = {}): Iterable<T> {
    return this.#seen().ordered(order, reverse);
  }

  get size(): number {
    return this.#seen().objects.size;
  }

  get synced(): boolean {
    return this.#filled && this.#state !== "parked";
  }

  get state(): WatchState {
    return this.#state;
  }

  get parkReason(): ParkReason | undefined {
    return this.#parkReason;
  }

  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    this.#table.addIndex(name, of);
  }

  addOrder(name: string, of: OrderFunction<T>): void {
    this.#table.addOrder(name, of);
  }

  // Waiting and listening

  waitFor(resourceVersion: string, deadlineMs: number): Promise<boolean> {
    return this.#waiters.wait(() => this.synced && hasReached(this.#resourceVersion, resourceVersion), deadlineMs);
  }

  waitGone(uid: string, deadlineMs: number): Promise<boolean> {
    const gone = () => {
      const object = this.#table.byUid(uid);
      return !object || object.metadata.deletionTimestamp !== undefined;
    };
    return this.#waiters.wait(() => this.synced && gone(), deadlineMs);
  }

  waitSynced(deadlineMs: number): Promise<boolean> {
    return this.#waiters.wait(() => this.synced, deadlineMs);
  }

  onChange(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  onState(listener: (state: WatchState) => void): () => void {
    this.#stateListeners.add(listener);
    return () => void this.#stateListeners.delete(listener);
  }

  // Feeding

  /** Replaces everything and tells what differs, deletions included. */
  replace(objects: readonly T[], resourceVersion: string): void {
    const keys = new Set(objects.map(tableKey));
    for (const [key, object] of [...this.#table.objects]) if (!keys.has(key)) this.#drop(key, object, true);
    for (const object of objects) this.#put(object, true);
    const first = !this.#filled;
    this.#filled = true;
    // A list is the truth as of its version, even one that is behind: a restored server counts anew.
    this.#resourceVersion = resourceVersion;
    this.#waiters.check();
    if (first) this.#tellState();
  }

  upsert(object: T): void {
    this.#put(object, false);
    this.reached(object.metadata.resourceVersion);
  }

  remove(object: T): void {
    this.#drop(tableKey(object), object, false);
    this.reached(object.metadata.resourceVersion);
  }

  /** The version is reached, although perhaps nothing changed here. */
  reached(resourceVersion: string | undefined): void {
    if (resourceVersion && !hasReached(this.#resourceVersion, resourceVersion)) this.#resourceVersion = resourceVersion;
    this.#waiters.check();
  }

  setState(state: WatchState, parkReason?: ParkReason): void {
    if (this.#state === state && this.#parkReason === parkReason) return;
    this.#state = state;
    this.#parkReason = parkReason;
    // Until a resumed watch has listed, what was there before the parking stays unreadable.
    if (state === "parked") this.#filled = false;
    if (state === "stopped") this.#waiters.close();
    else this.#waiters.check();
    this.#tellState();
  }

  #seen(): ObjectTable<T> {
    if (this.#state === "parked") throw new NotPermitted(this.#resource, this.#parkReason ?? "Forbidden");
    if (!this.#filled) throw new NotSynced(this.#resource);
    return this.#table;
  }

  #put(object: T, initial: boolean): void {
    const key = tableKey(object);
    const before = this.#table.objects.get(key);
    const same = before !== undefined && before.metadata.uid === object.metadata.uid;
    const unchanged = same && before.metadata.resourceVersion === object.metadata.resourceVersion;
    if (unchanged && !initial) return;
    if (before && !same) this.#drop(key, before, initial);
    const kept = this.#options.freeze ? deepFreeze(object) : object;
    // A relist may have prepared the same version in another way, so it is taken, silently.
    this.#table.place(key, kept);
    if (unchanged) return;
    this.#tell(same ? { type: "modified", object: kept, old: before, initial } : { type: "added", object: kept, initial });
  }

  #drop(key: string, last: T, initial: boolean): void {
    const old = this.#table.objects.get(key);
    if (!old) return;
    this.#table.place(key, undefined);
    this.#tell({ type: "deleted", object: last, old, initial });
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) this.#guard(() => listener(change));
  }

  #tellState(): void {
    for (const listener of this.#stateListeners) this.#guard(() => listener(this.#state));
  }

  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.onFault(error);
    }
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
