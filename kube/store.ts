// The cache of one kind: what was seen, the version reached, and whoever waits for it. Fed by one reflector, or by one for each namespace.
import { Contents } from "./contents.ts";
import type { Ghosts } from "./ghosts.ts";
import { keyOf, type KubeObject, type ObjectKey } from "./object.ts";
import { labelIndex, type ObjectTable, tableKey } from "./object-table.ts";
import { type Change, type IndexFunction, type ListFilter, NotInCache, NotPermitted, type OrderFunction, type ParkReason, type Sight, type Store, type WatchState } from "./reader.ts";
import { resourceId, type ResourceRef } from "./resource-ref.ts";
import { hasReached, Sights } from "./sights.ts";
import { createWaiters } from "./waiters.ts";

export { hasReached } from "./sights.ts";

export interface StoreOptions<T extends KubeObject> {
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  orders?: Readonly<Record<string, OrderFunction<T>>>;
  /** Deep-freezes objects, so that a reader that changes one throws. For tests. */
  freeze?: boolean;
  /** A listener or an index function threw. */
  onFault: (error: unknown) => void;
}

/** What a reflector writes to. Feeding is synchronous and in order. */
export interface Feed<T extends KubeObject = KubeObject> {
  readonly ref: ResourceRef<T>;
  readonly synced: boolean;
  readonly state: WatchState;
  setState(state: WatchState, parkReason?: ParkReason): void;
  /** Replaces everything of this feed and tells what differs, deletions included. */
  replace(objects: readonly T[], resourceVersion: string): void;
  upsert(object: T): void;
  remove(object: T): void;
  /** The version is reached, although perhaps nothing changed here. */
  reached(resourceVersion: string | undefined): void;
}

/**
 * A Store with its feeding side. Parking evicts the objects and remembers who they were, so that the next `replace` tells what was
 * really deleted. `split` makes it a store of namespaces, each with a feed and a state of its own; `replace` of the whole joins it again.
 */
export class FedStore<T extends KubeObject> implements Store<T>, Feed<T> {
  readonly ref: ResourceRef<T>;
  readonly #resource: string;
  readonly #contents: Contents<T>;
  readonly #table: ObjectTable<T>;
  readonly #ghosts: Ghosts;
  readonly #sights: Sights;
  readonly #options: StoreOptions<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #stateListeners = new Set<(state: WatchState, namespace?: string) => void>();
  readonly #waiters = createWaiters();

  constructor(ref: ResourceRef<T>, options: StoreOptions<T>) {
    this.ref = ref;
    this.#resource = resourceId(ref);
    this.#sights = new Sights(this.#resource);
    this.#options = options;
    this.#contents = new Contents<T>({ freeze: options.freeze ?? false, onFault: options.onFault, tell: (change) => this.#tell(change) });
    this.#table = this.#contents.table;
    this.#ghosts = this.#contents.ghosts;
    for (const [name, of] of Object.entries(options.indexes ?? {})) this.addIndex(name, of);
    for (const [name, of] of Object.entries(options.orders ?? {})) this.addOrder(name, of);
  }

  // Reading

  find(key: ObjectKey): T | undefined {
    this.#sights.require(key.namespace ?? "");
    return this.#table.objects.get(keyOf(key));
  }

  get(key: ObjectKey): T {
    const object = this.find(key);
    if (!object) throw new NotInCache(this.#resource, key);
    return object;
  }

  getMany(keys: readonly ObjectKey[]): T[] {
    this.#sights.requireSome();
    for (const { namespace } of keys) this.#sights.require(namespace ?? "");
    return this.#table.pick(keys.map((key) => keyOf(key)));
  }

  list(filter: ListFilter = {}): T[] {
    const isPartial = filter.partial === true && filter.namespace === undefined;
    if (isPartial) this.#sights.requireSome();
    else this.#sights.require(filter.namespace);
    const [label] = isPartial ? Object.entries(filter.labels ?? {}) : [];
    if (label) this.#refuseGhost(this.#ghosts.whoBears(labelIndex(label[0]), label[1]));
    return this.#table.list(filter);
  }

  byIndex(index: string, value: string, namespace?: string): T[] {
    if (namespace !== undefined) {
      this.#sights.require(namespace);
      return this.#table.byIndex(index, value).filter(({ metadata }) => metadata.namespace === namespace);
    }
    this.#sights.requireSome();
    this.#refuseGhost(this.#ghosts.whoBears(index, value));
    const found = this.#table.byIndex(index, value);
    if (found.length === 0) this.#sights.requireListed();
    return found;
  }

  byUid(uid: string): T | undefined {
    this.#sights.requireSome();
    this.#refuseGhost(this.#ghosts.whereIs(uid));
    const found = this.#table.byUid(uid);
    if (!found) this.#sights.requireListed();
    return found;
  }

  ordered(order: string, { reverse = false }: { reverse?: boolean } = {}): Iterable<T> {
    this.#sights.require(undefined);
    return this.#table.ordered(order, reverse);
  }

  get size(): number {
    this.#sights.requireSome();
    return this.#table.objects.size;
  }

  get synced(): boolean {
    return this.#sights.synced;
  }

  get state(): WatchState {
    return this.#sights.state;
  }

  get parkReason(): ParkReason | undefined {
    return this.#sights.parkReason;
  }

  get resourceVersion(): string {
    return this.#sights.version;
  }

  versionIn(namespace: string | undefined): string {
    return this.#sights.versionIn(namespace);
  }

  sightOf(namespace: string | undefined): Sight {
    return this.#sights.sightOf(namespace);
  }

  get holes(): readonly string[] {
    return this.#sights.holes;
  }

  /** Namespaces watched one by one, in order; empty when all is seen by one watch. */
  get namespaces(): readonly string[] {
    return this.#sights.namespaces;
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    this.#table.addIndex(name, of);
  }

  addOrder(name: string, of: OrderFunction<T>): void {
    this.#table.addOrder(name, of);
  }

  // Waiting and listening

  waitFor(resourceVersion: string, deadlineMs: number, namespace?: string): Promise<boolean> {
    return this.#waiters.wait(() => this.sightOf(namespace).synced && hasReached(this.versionIn(namespace), resourceVersion), deadlineMs);
  }

  waitGone(uid: string, deadlineMs: number): Promise<boolean> {
    const gone = () => {
      const object = this.#table.byUid(uid);
      return object ? object.metadata.deletionTimestamp !== undefined : this.#ghosts.whereIs(uid) === undefined;
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

  onState(listener: (state: WatchState, namespace?: string) => void): () => void {
    this.#stateListeners.add(listener);
    return () => void this.#stateListeners.delete(listener);
  }

  // Feeding, all by one watch

  replace(objects: readonly T[], resourceVersion: string): void {
    const wasSplit = this.#sights.isSplit;
    this.#sights.join();
    this.#contents.fill(objects);
    const { whole } = this.#sights;
    const first = !whole.filled;
    whole.filled = true;
    // A list is the truth as of its version, even one that is behind: a restored server counts anew.
    whole.version = resourceVersion;
    this.#waiters.check();
    if (first || wasSplit) this.#tellState();
  }

  upsert(object: T): void {
    this.#contents.put(object, false);
    this.reached(object.metadata.resourceVersion);
  }

  remove(object: T): void {
    this.#contents.drop(tableKey(object), object, false);
    this.reached(object.metadata.resourceVersion);
  }

  reached(resourceVersion: string | undefined): void {
    this.#sights.whole.reached(resourceVersion);
    this.#waiters.check();
  }

  setState(state: WatchState, parkReason?: ParkReason): void {
    const wasSplit = this.#sights.isSplit;
    if (!this.#sights.whole.setState(state, parkReason) && !(wasSplit && state === "parked")) return;
    if (state === "parked") {
      this.#sights.join();
      this.#contents.evict();
    }
    if (state === "stopped") this.#waiters.close();
    else this.#waiters.check();
    this.#tellState();
  }

  // Feeding, namespace by namespace

  /** From now on each namespace has a feed of its own; until the first have listed, nothing is synced. */
  split(): void {
    if (this.#sights.isSplit) return;
    this.#contents.evict();
    this.#sights.split();
    this.#tellState();
  }

  /** Every namespace that can hold objects of this kind has its feed by now. */
  complete(): void {
    const before = this.synced;
    this.#sights.complete();
    this.#waiters.check();
    if (!before && this.synced) this.#tellState();
  }

  /** The feed of one namespace of a split store; it does nothing any more once that namespace is forgotten or the store joined. */
  feed(namespace: string): Feed<T> {
    const part = this.#sights.part(namespace);
    const isLive = (): boolean => this.#sights.has(part, namespace);
    const reached = (version: string | undefined): void => {
      part.reached(version);
      this.#waiters.check();
    };
    const take = (object: T, how: () => void): void => {
      if (isLive()) how();
      reached(object.metadata.resourceVersion);
    };
    return {
      ref: this.ref,
      get synced() {
        return part.synced;
      },
      get state() {
        return part.state;
      },
      reached,
      replace: (objects, resourceVersion) => {
        if (isLive()) this.#fillPart(namespace, objects, resourceVersion);
      },
      upsert: (object) => take(object, () => this.#contents.put(object, false)),
      remove: (object) => take(object, () => this.#contents.drop(tableKey(object), object, false)),
      setState: (state, parkReason) => {
        if (!part.setState(state, parkReason) || !isLive()) return;
        if (state === "parked") this.#contents.evict(namespace);
        this.#settle();
        this.#tellState(namespace);
      },
    };
  }

  /** The namespace is no longer watched. `gone`: it does not exist any more, so what was in it is deleted; else it is only out of sight. */
  forget(namespace: string, gone: boolean): void {
    this.#contents.forget(namespace, gone);
    this.#sights.forget(namespace);
    this.#waiters.check();
    this.#tellState(namespace);
  }

  // Inside

  #settle(): void {
    this.#sights.settle();
    this.#waiters.check();
  }

  #refuseGhost(namespace: string | undefined): void {
    if (namespace !== undefined) throw new NotPermitted(this.#resource, this.sightOf(namespace).parkReason ?? "Forbidden", namespace);
  }

  #fillPart(namespace: string, objects: readonly T[], resourceVersion: string): void {
    const part = this.#sights.part(namespace);
    const first = !part.filled;
    this.#contents.fill(objects, namespace);
    part.filled = true;
    part.version = resourceVersion;
    this.#settle();
    if (first) this.#tellState(namespace);
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) this.#guard(() => listener(change));
  }

  #tellState(namespace?: string): void {
    const state = namespace === undefined ? this.state : this.sightOf(namespace).state;
    for (const listener of this.#stateListeners) this.#guard(() => listener(state, namespace));
  }

  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.onFault(error);
    }
  }
}
