// The cache of one kind: what was seen, the version reached, and whoever waits for it. Fed by one reflector, or by one for each namespace.
import { Contents, type Farewell } from "./store-contents.ts";
import type { Feed } from "./reflector-store.ts";
import type { KubeObject } from "../api/object.ts";
import { tableKey } from "./object-table.ts";
import type { Change, IndexFunction, ParkReason, Sight, Store, WatchState } from "./reader.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import { hasReached, Sights } from "./scoped/sync-status-table.ts";
import { StrictReads } from "./strict-reads.ts";
import { createWaiters } from "./waiters.ts";

export { hasReached } from "./scoped/sync-status-table.ts";

export interface StoreOptions<T extends KubeObject> {
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** Deep-freezes objects, so that a reader that changes one throws. For tests. */
  freeze?: boolean;
  /** A listener or an index function threw. */
  onFault: (error: unknown) => void;
}

/**
 * A Store with its feeding side. Parking evicts the objects and remembers who they were, so that the next `replace` tells what was
 * really deleted. `split` makes it a store of namespaces, each with a feed and a state of its own; `replace` of the whole joins it again.
 */
export class FedStore<T extends KubeObject> extends StrictReads<T> implements Store<T>, Feed<T> {
  readonly ref: ResourceRef<T>;
  readonly #contents: Contents<T>;
  readonly #sights: Sights;
  readonly #options: StoreOptions<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #stateListeners = new Set<(state: WatchState, namespace?: string) => void>();
  readonly #waiters = createWaiters();

  constructor(ref: ResourceRef<T>, options: StoreOptions<T>) {
    const sights = new Sights(resourceId(ref));
    const contents = new Contents<T>({ freeze: options.freeze ?? false, onFault: options.onFault, tell: (change) => this.#tell(change) });
    super(contents, sights);
    this.ref = ref;
    this.#sights = sights;
    this.#options = options;
    this.#contents = contents;
    for (const [name, of] of Object.entries(options.indexes ?? {})) this.addIndex(name, of);
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

  /** Is each namespace watched by itself? */
  get isSplit(): boolean {
    return this.#sights.isSplit;
  }

  /** Another one after every change of what can be seen. */
  get sightRevision(): number {
    return this.#sights.revision;
  }

  /** Namespaces watched one by one, and those of them that are not being watched right now, in order; undefined when all is seen by one watch. */
  get parts(): { count: number; notWatching: readonly string[] } | undefined {
    return this.#sights.count > 0 ? { count: this.#sights.count, notWatching: this.#sights.notWatching } : undefined;
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    this.#contents.table.addIndex(name, of);
  }

  // Waiting and listening

  waitFor(resourceVersion: string, deadlineMs: number, namespace?: string): Promise<boolean> {
    return this.#waiters.wait(() => this.sightOf(namespace).synced && hasReached(this.versionIn(namespace), resourceVersion), deadlineMs);
  }

  waitGone(uid: string, deadlineMs: number): Promise<boolean> {
    const gone = () => {
      const object = this.#contents.table.byUid(uid);
      return object ? object.metadata.deletionTimestamp !== undefined : this.#contents.ghosts.whereIs(uid) === undefined;
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
    const first = this.#sights.fill(resourceVersion);
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
    this.#sights.reached(resourceVersion);
    this.#waiters.check();
  }

  setState(state: WatchState, parkReason?: ParkReason): void {
    const wasSplit = this.#sights.isSplit;
    if (!this.#sights.setState(state, parkReason) && !(wasSplit && state === "parked")) return;
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
      this.#sights.reachedPart(namespace, part, version);
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
        if (!this.#sights.setPart(namespace, part, state, parkReason) || !isLive()) return;
        if (state === "parked") this.#contents.evict(namespace);
        this.#waiters.check();
        this.#tellState(namespace);
      },
    };
  }

  /** The namespace is no longer watched. What was in it is deleted only when it is gone itself. */
  forget(namespace: string, farewell: Farewell): void {
    this.#contents.forget(namespace, farewell);
    this.#sights.forget(namespace);
    this.#waiters.check();
    this.#tellState(namespace, "stopped");
  }

  // Inside

  #fillPart(namespace: string, objects: readonly T[], resourceVersion: string): void {
    this.#contents.fill(objects, namespace);
    const first = this.#sights.fillPart(namespace, resourceVersion);
    this.#waiters.check();
    if (first) this.#tellState(namespace);
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) this.#guard(() => listener(change));
  }

  #tellState(namespace?: string, state = namespace === undefined ? this.state : this.sightOf(namespace).state): void {
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
