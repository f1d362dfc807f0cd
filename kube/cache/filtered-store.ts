// A view of a store, limited to one namespace or some labels. It needs no watch of its own.
import type { KubeObject, ObjectKey } from "../api/object.ts";
import type { Change, IndexFunction, ListFilter, ParkReason, SyncStatus, Store, WatchState } from "./reader.ts";
import { NotInCache } from "./errors.ts";
import { resourceId } from "../api/resource-ref.ts";

/** `labels`: a value, or undefined where the label's presence is enough. */
export interface ViewScope {
  namespace?: string | undefined;
  labels?: ReadonlyMap<string, string | undefined>;
}

/** Parses `a=b`, `a==b` and `a`, separated by commas; undefined for any other selector. */
export function parseEqualitySelector(selector: string): ReadonlyMap<string, string | undefined> | undefined {
  const labels = new Map<string, string | undefined>();
  for (const term of selector.split(",")) {
    const match = /^\s*([\w./-]+)\s*(?:==?\s*([\w.-]*)\s*)?$/.exec(term);
    if (!match?.[1] || labels.has(match[1])) return undefined;
    labels.set(match[1], match[2]);
  }
  return labels;
}

export class StoreView<T extends KubeObject> implements Store<T> {
  readonly #store: Store<T>;
  readonly #scope: ViewScope;

  constructor(base: Store<T>, extent: ViewScope) {
    this.#store = base;
    this.#scope = extent;
  }

  get ref() {
    return this.#store.ref;
  }

  find(key: ObjectKey): T | undefined {
    const { namespace } = this.#scope;
    // Readability of the view's namespace decides, not of the key's.
    if (namespace !== undefined && key.namespace !== namespace) return void this.#store.find({ ...key, namespace });
    return this.#ifMatching(this.#store.find(key));
  }

  get(key: ObjectKey): T {
    const object = this.find(key);
    if (!object) throw new NotInCache(resourceId(this.ref), key);
    return object;
  }

  getMany(keys: readonly ObjectKey[]): T[] {
    return keys.flatMap((key) => this.find(key) ?? []);
  }

  list(filter: ListFilter = {}): T[] {
    const { namespace } = this.#scope;
    if (namespace !== undefined && filter.namespace !== undefined && filter.namespace !== namespace) return [];
    return this.#store
      .list({ ...filter, ...(namespace !== undefined && { namespace }) })
      .filter((object) => this.#matches(object));
  }

  byIndex(index: string, value: string, namespace?: string): T[] {
    const within = this.#scope.namespace ?? namespace;
    if (namespace !== undefined && namespace !== within) return [];
    return this.#store.byIndex(index, value, within).filter((object) => this.#matches(object));
  }

  byUid(uid: string): T | undefined {
    this.#requireReadable();
    return this.#ifMatching(this.#store.byUid(uid));
  }

  get size(): number {
    return this.list().length;
  }

  get synced(): boolean {
    return this.#syncStatus.synced;
  }

  get state(): WatchState {
    return this.#syncStatus.state;
  }

  get parkReason(): ParkReason | undefined {
    return this.#syncStatus.parkReason;
  }

  get resourceVersion(): string {
    return this.#store.resourceVersionIn(this.#scope.namespace);
  }

  get parkedNamespaces(): readonly string[] {
    return this.#scope.namespace === undefined ? this.#store.parkedNamespaces : [];
  }

  resourceVersionIn(namespace: string | undefined): string {
    return this.#store.resourceVersionIn(this.#scope.namespace ?? namespace);
  }

  syncStatusOf(namespace: string | undefined): SyncStatus {
    return this.#store.syncStatusOf(this.#scope.namespace ?? namespace);
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    this.#store.addIndex(name, of);
  }

  waitForVersion(resourceVersion: string, deadlineMs: number, namespace?: string): Promise<boolean> {
    return this.#store.waitForVersion(resourceVersion, deadlineMs, this.#scope.namespace ?? namespace);
  }

  waitDeleted(uid: string, deadlineMs: number): Promise<boolean> {
    return this.#store.waitDeleted(uid, deadlineMs);
  }

  async waitSynced(deadlineMs: number): Promise<boolean> {
    if (this.synced) return true;
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        stop();
        resolve(this.synced);
      };
      const timer = setTimeout(finish, deadlineMs);
      const stop = this.#store.onStateChange((state, of) => {
        if (this.synced || (state === "stopped" && of === undefined)) finish();
      });
    });
  }

  onChange(listener: (change: Change<T>) => void): () => void {
    return this.#store.onChange((change) => {
      const seen = this.#toViewChange(change);
      if (seen) listener(seen);
    });
  }

  onStateChange(listener: (state: WatchState, namespace?: string) => void): () => void {
    const { namespace } = this.#scope;
    return this.#store.onStateChange((state, of) => {
      if (namespace === undefined) listener(state, of);
      else if (of === undefined || of === namespace) listener(this.state);
    });
  }

  get #syncStatus(): SyncStatus {
    return this.#store.syncStatusOf(this.#scope.namespace);
  }

  /** @throws NotPermitted, NotSynced when the view's namespace is unreadable */
  #requireReadable(): void {
    const { namespace } = this.#scope;
    if (namespace !== undefined) this.#store.find({ namespace, name: "" });
  }

  #ifMatching(object: T | undefined): T | undefined {
    return object && this.#matches(object) ? object : undefined;
  }

  #matches({ metadata }: KubeObject): boolean {
    const { namespace, labels } = this.#scope;
    if (namespace !== undefined && metadata.namespace !== namespace) return false;
    for (const [label, wanted] of labels ?? []) {
      const value = metadata.labels?.[label];
      if (value === undefined || (wanted !== undefined && value !== wanted)) return false;
    }
    return true;
  }

  /** The change as the view shows it: an object that leaves the view is deleted, one that enters is added. */
  #toViewChange(change: Change<T>): Change<T> | undefined {
    const { object, initial } = change;
    const shown = this.#matches(object);
    if (change.type === "added") return shown ? change : undefined;
    // A tombstone has no labels, so the view emits more deletions than necessary.
    const before = change.evicted ? this.#isInNamespace(change.old) : this.#matches(change.old);
    if (change.type === "deleted") return before ? change : undefined;
    if (shown) return before ? change : { type: "added", object, initial };
    return before
      ? { type: "deleted", object, old: change.old, initial, ...(change.evicted && { evicted: true }) }
      : undefined;
  }

  #isInNamespace({ metadata }: KubeObject): boolean {
    return this.#scope.namespace === undefined || metadata.namespace === this.#scope.namespace;
  }
}
