// The cache of one kind: what was seen, the version reached, and whoever waits for it. Fed by one reflector, or by one for each namespace.
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
  /** Deep-freezes objects, so that a reader that changes one throws. For tests. */
  freeze?: boolean;
  /** A listener or an index function threw. */
  onFault: (error: unknown) => void;
}

/**
 * A Store with its feeding side. Parking evicts the objects and remembers who they were, so that the next `replace` tells what was
 * really deleted. `split` makes it a store of namespaces, each with a feed and a state of its own; `replace` of the whole joins it again.
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
    const sights = new SyncStatusTable(resourceId(ref));
    const contents = new StoreContents<T>({
      freeze: options.freeze ?? false,
      onFault: options.onFault,
      onChange: (change) => this.#notifyChange(change),
    });
    super(contents, sights);
    this.ref = ref;
    this.#syncStatuses = sights;
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

  /** Is each namespace watched by itself? */
  get isScoped(): boolean {
    return this.#syncStatuses.isScoped;
  }

  /** Another one after every change of what can be seen. */
  get statusChangeCount(): number {
    return this.#syncStatuses.changeCount;
  }

  /** Namespaces watched one by one, and those of them that are not being watched right now, in order; undefined when all is seen by one watch. */
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

  // Feeding, all by one watch

  replace(objects: readonly T[], resourceVersion: string): void {
    const wasSplit = this.#syncStatuses.isScoped;
    this.#syncStatuses.switchToClusterWide();
    this.#contents.replaceAll(objects);
    const first = this.#syncStatuses.recordList(resourceVersion);
    this.#waiters.checkAll();
    if (first || wasSplit) this.#notifyState();
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
    const wasSplit = this.#syncStatuses.isScoped;
    if (!this.#syncStatuses.setState(state, parkReason) && !(wasSplit && state === "parked")) return;
    if (state === "parked") {
      this.#syncStatuses.switchToClusterWide();
      this.#contents.evict();
    }
    if (state === "stopped") this.#waiters.close();
    else this.#waiters.checkAll();
    this.#notifyState();
  }

  // Feeding, namespace by namespace

  /** From now on each namespace has a feed of its own; until the first have listed, nothing is synced. */
  switchToNamespaces(): void {
    if (this.#syncStatuses.isScoped) return;
    this.#contents.evict();
    this.#syncStatuses.switchToNamespaces();
    this.#notifyState();
  }

  /** Every namespace that can hold objects of this kind has its feed by now. */
  markNamespacesComplete(): void {
    const before = this.synced;
    this.#syncStatuses.markComplete();
    this.#waiters.checkAll();
    if (!before && this.synced) this.#notifyState();
  }

  /** The feed of one namespace of a split store; it does nothing any more once that namespace is forgotten or the store joined. */
  namespaceStore(namespace: string): ReflectorStore<T> {
    const part = this.#syncStatuses.ensureNamespace(namespace);
    const isCurrent = (): boolean => this.#syncStatuses.isCurrent(part, namespace);
    const reached = (version: string | undefined): void => {
      this.#syncStatuses.observeNamespaceVersion(namespace, part, version);
      this.#waiters.checkAll();
    };
    const applyChange = (object: T, how: () => void): void => {
      if (isCurrent()) how();
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
      observeVersion: reached,
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

  /** The namespace is no longer watched. What was in it is deleted only when it is gone itself. */
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
