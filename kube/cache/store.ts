// The cache of one watch: contents, sync status, waiters and listeners. One reflector writes it, or one for each namespace.
import { StoreContents, type NamespaceRemoval } from "./store-contents.ts";
import type { ReflectorStore } from "./reflector-store.ts";
import type { KubeObject } from "../api/object.ts";
import { tableKey } from "./object-table.ts";
import type { Change, IndexFunction, ParkReason, SyncStatus, Store, WatchState } from "./reader.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import { hasReached } from "../api/resource-version.ts";
import { SyncStatusTable } from "./scoped/sync-status-table.ts";
import { StrictReads } from "./strict-reads.ts";
import { createWaiters } from "./waiters.ts";

export interface StoreOptions<T extends KubeObject> {
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** Deep-freezes objects, so that a mutation throws. For tests. */
  freeze?: boolean;
  /** Receives errors of listeners and index functions. */
  onFault: (error: unknown) => void;
}

/**
 * A Store with its write side. Parking evicts the objects and keeps tombstones, so that the next `replace` emits the real deletions.
 * `switchToNamespaces` gives each namespace its own writer and state; a cluster-wide `replace` switches back.
 */
export class WritableStore<T extends KubeObject> extends StrictReads<T> implements Store<T>, ReflectorStore<T> {
  readonly ref: ResourceRef<T>;
  readonly #contents: StoreContents<T>;
  readonly #syncStatuses: SyncStatusTable;
  readonly #options: StoreOptions<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #stateListeners = new Set<(state: WatchState, namespace?: string) => void>();
  readonly #waiters = createWaiters();

  constructor(ref: ResourceRef<T>, options: StoreOptions<T>) {
    const syncStatuses = new SyncStatusTable(resourceId(ref));
    const contents = new StoreContents<T>({
      freeze: options.freeze ?? false,
      onFault: options.onFault,
      onChange: (change) => this.#notifyChange(change),
    });
    super(contents, syncStatuses);
    this.ref = ref;
    this.#syncStatuses = syncStatuses;
    this.#options = options;
    this.#contents = contents;
    for (const [name, of] of Object.entries(options.indexes ?? {})) this.addIndex(name, of);
  }

  get synced(): boolean {
    return this.#syncStatuses.synced;
  }

  get state(): WatchState {
    return this.#syncStatuses.state;
  }

  get parkReason(): ParkReason | undefined {
    return this.#syncStatuses.parkReason;
  }

  get resourceVersion(): string {
    return this.#syncStatuses.version;
  }

  resourceVersionIn(namespace: string | undefined): string {
    return this.#syncStatuses.resourceVersionIn(namespace);
  }

  syncStatusOf(namespace: string | undefined): SyncStatus {
    return this.#syncStatuses.syncStatusOf(namespace);
  }

  get parkedNamespaces(): readonly string[] {
    return this.#syncStatuses.parkedNamespaces;
  }

  /** Whether namespaces are watched one by one. */
  get isScoped(): boolean {
    return this.#syncStatuses.isScoped;
  }

  /** Changes with every change of readability. */
  get statusChangeCount(): number {
    return this.#syncStatuses.changeCount;
  }

  /** Number of namespaces watched one by one, and those not in state "watching", sorted; undefined for a cluster-wide watch. */
  get namespaceWatches(): { count: number; notWatching: readonly string[] } | undefined {
    return this.#syncStatuses.namespaceCount > 0
      ? { count: this.#syncStatuses.namespaceCount, notWatching: this.#syncStatuses.notWatching }
      : undefined;
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    this.#contents.table.addIndex(name, of);
  }

  // Waiting and listening

  waitForVersion(resourceVersion: string, deadlineMs: number, namespace?: string): Promise<boolean> {
    return this.#waiters.wait(
      () => this.syncStatusOf(namespace).synced && hasReached(this.resourceVersionIn(namespace), resourceVersion),
      deadlineMs,
    );
  }

  waitDeleted(uid: string, deadlineMs: number): Promise<boolean> {
    const gone = () => {
      const object = this.#contents.table.byUid(uid);
      return object
        ? object.metadata.deletionTimestamp !== undefined
        : this.#contents.tombstones.namespaceByUid(uid) === undefined;
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

  onStateChange(listener: (state: WatchState, namespace?: string) => void): () => void {
    this.#stateListeners.add(listener);
    return () => void this.#stateListeners.delete(listener);
  }

  // Writes of a cluster-wide watch

  replace(objects: readonly T[], resourceVersion: string): void {
    const wasScoped = this.#syncStatuses.isScoped;
    this.#syncStatuses.switchToClusterWide();
    this.#contents.replaceAll(objects);
    const first = this.#syncStatuses.recordList(resourceVersion);
    this.#waiters.checkAll();
    if (first || wasScoped) this.#notifyState();
  }

  upsert(object: T): void {
    this.#contents.upsert(object, false);
    this.observeVersion(object.metadata.resourceVersion);
  }

  remove(object: T): void {
    this.#contents.remove(tableKey(object), object, false);
    this.observeVersion(object.metadata.resourceVersion);
  }

  observeVersion(resourceVersion: string | undefined): void {
    this.#syncStatuses.observeVersion(resourceVersion);
    this.#waiters.checkAll();
  }

  setState(state: WatchState, parkReason?: ParkReason): void {
    const wasScoped = this.#syncStatuses.isScoped;
    if (!this.#syncStatuses.setState(state, parkReason) && !(wasScoped && state === "parked")) return;
    if (state === "parked") {
      this.#syncStatuses.switchToClusterWide();
      this.#contents.evict();
    }
    if (state === "stopped") this.#waiters.close();
    else this.#waiters.checkAll();
    this.#notifyState();
  }

  // Writes namespace by namespace

  /** Gives each namespace its own writer from now on; the store is not synced before their first lists. */
  switchToNamespaces(): void {
    if (this.#syncStatuses.isScoped) return;
    this.#contents.evict();
    this.#syncStatuses.switchToNamespaces();
    this.#notifyState();
  }

  /** Every namespace that can hold objects of this kind has a writer. */
  markNamespacesComplete(): void {
    const before = this.synced;
    this.#syncStatuses.markComplete();
    this.#waiters.checkAll();
    if (!before && this.synced) this.#notifyState();
  }

  /** The write side of one namespace. It becomes a no-op when the namespace is removed or the store switches back. */
  namespaceStore(namespace: string): ReflectorStore<T> {
    const part = this.#syncStatuses.ensureNamespace(namespace);
    const isCurrent = (): boolean => this.#syncStatuses.isCurrent(part, namespace);
    const observe = (version: string | undefined): void => {
      this.#syncStatuses.observeNamespaceVersion(namespace, part, version);
      this.#waiters.checkAll();
    };
    const applyChange = (object: T, how: () => void): void => {
      if (isCurrent()) how();
      observe(object.metadata.resourceVersion);
    };
    return {
      ref: this.ref,
      get synced() {
        return part.synced;
      },
      get state() {
        return part.state;
      },
      observeVersion: observe,
      replace: (objects, resourceVersion) => {
        if (isCurrent()) this.#replaceNamespace(namespace, objects, resourceVersion);
      },
      upsert: (object) => applyChange(object, () => this.#contents.upsert(object, false)),
      remove: (object) => applyChange(object, () => this.#contents.remove(tableKey(object), object, false)),
      setState: (state, parkReason) => {
        if (!this.#syncStatuses.setNamespaceState(namespace, part, state, parkReason) || !isCurrent()) return;
        if (state === "parked") this.#contents.evict(namespace);
        this.#waiters.checkAll();
        this.#notifyState(namespace);
      },
    };
  }

  /** The namespace is no longer watched; see NamespaceRemoval. */
  removeNamespace(namespace: string, reason: NamespaceRemoval): void {
    this.#contents.removeNamespace(namespace, reason);
    this.#syncStatuses.removeNamespace(namespace);
    this.#waiters.checkAll();
    this.#notifyState(namespace, "stopped");
  }

  // Inside

  #replaceNamespace(namespace: string, objects: readonly T[], resourceVersion: string): void {
    this.#contents.replaceAll(objects, namespace);
    const first = this.#syncStatuses.recordNamespaceList(namespace, resourceVersion);
    this.#waiters.checkAll();
    if (first) this.#notifyState(namespace);
  }

  #notifyChange(change: Change<T>): void {
    for (const listener of this.#listeners) this.#callListener(() => listener(change));
  }

  #notifyState(
    namespace?: string,
    state = namespace === undefined ? this.state : this.syncStatusOf(namespace).state,
  ): void {
    for (const listener of this.#stateListeners) this.#callListener(() => listener(state, namespace));
  }

  #callListener(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.onFault(error);
    }
  }
}
