// A part of a store, as if it were watched by itself: one namespace, some labels. Costs no watch.
import type { KubeObject, ObjectKey } from "../api/object.ts";
import { type Change, type IndexFunction, type ListFilter, NotInCache, type ParkReason, type Sight, type Store, type WatchState } from "./reader.ts";
import { resourceId } from "../api/resource-ref.ts";

/** What is in view. `labels`: a value, or undefined where the label's presence is enough. */
export interface Extent {
  namespace?: string | undefined;
  labels?: ReadonlyMap<string, string | undefined>;
}

/** `a=b`, `a==b` and `a`, by commas; undefined for any other selector. */
export function parseSimpleSelector(selector: string): ReadonlyMap<string, string | undefined> | undefined {
  const labels = new Map<string, string | undefined>();
  for (const term of selector.split(",")) {
    const match = /^\s*([\w./-]+)\s*(?:==?\s*([\w.-]*)\s*)?$/.exec(term);
    if (!match?.[1] || labels.has(match[1])) return undefined;
    labels.set(match[1], match[2]);
  }
  return labels;
}

export class StoreView<T extends KubeObject> implements Store<T> {
  readonly #base: Store<T>;
  readonly #extent: Extent;

  constructor(base: Store<T>, extent: Extent) {
    this.#base = base;
    this.#extent = extent;
  }

  get ref() {
    return this.#base.ref;
  }

  find(key: ObjectKey): T | undefined {
    const { namespace } = this.#extent;
    // Sight is asked about where we look, not where the key points.
    if (namespace !== undefined && key.namespace !== namespace) return void this.#base.find({ ...key, namespace });
    return this.#only(this.#base.find(key));
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
    const { namespace } = this.#extent;
    if (namespace !== undefined && filter.namespace !== undefined && filter.namespace !== namespace) return [];
    return this.#base.list({ ...filter, ...(namespace !== undefined && { namespace }) }).filter((object) => this.#shows(object));
  }

  byIndex(index: string, value: string, namespace?: string): T[] {
    const within = this.#extent.namespace ?? namespace;
    if (namespace !== undefined && namespace !== within) return [];
    return this.#base.byIndex(index, value, within).filter((object) => this.#shows(object));
  }

  byUid(uid: string): T | undefined {
    this.#look();
    return this.#only(this.#base.byUid(uid));
  }

  get size(): number {
    return this.list().length;
  }

  get synced(): boolean {
    return this.#sight.synced;
  }

  get state(): WatchState {
    return this.#sight.state;
  }

  get parkReason(): ParkReason | undefined {
    return this.#sight.parkReason;
  }

  get resourceVersion(): string {
    return this.#base.versionIn(this.#extent.namespace);
  }

  get holes(): readonly string[] {
    return this.#extent.namespace === undefined ? this.#base.holes : [];
  }

  versionIn(namespace: string | undefined): string {
    return this.#base.versionIn(this.#extent.namespace ?? namespace);
  }

  sightOf(namespace: string | undefined): Sight {
    return this.#base.sightOf(this.#extent.namespace ?? namespace);
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    this.#base.addIndex(name, of);
  }

  waitFor(resourceVersion: string, deadlineMs: number, namespace?: string): Promise<boolean> {
    return this.#base.waitFor(resourceVersion, deadlineMs, this.#extent.namespace ?? namespace);
  }

  waitGone(uid: string, deadlineMs: number): Promise<boolean> {
    return this.#base.waitGone(uid, deadlineMs);
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
      const stop = this.#base.onState((state, of) => {
        if (this.synced || (state === "stopped" && of === undefined)) finish();
      });
    });
  }

  onChange(listener: (change: Change<T>) => void): () => void {
    return this.#base.onChange((change) => {
      const seen = this.#seen(change);
      if (seen) listener(seen);
    });
  }

  onState(listener: (state: WatchState, namespace?: string) => void): () => void {
    const { namespace } = this.#extent;
    return this.#base.onState((state, of) => {
      if (namespace === undefined) listener(state, of);
      else if (of === undefined || of === namespace) listener(this.state);
    });
  }

  get #sight(): Sight {
    return this.#base.sightOf(this.#extent.namespace);
  }

  /** @throws NotPermitted, NotSynced when what is in view cannot be seen */
  #look(): void {
    const { namespace } = this.#extent;
    if (namespace !== undefined) this.#base.find({ namespace, name: "" });
  }

  #only(object: T | undefined): T | undefined {
    return object && this.#shows(object) ? object : undefined;
  }

  #shows({ metadata }: KubeObject): boolean {
    const { namespace, labels } = this.#extent;
    if (namespace !== undefined && metadata.namespace !== namespace) return false;
    for (const [label, wanted] of labels ?? []) {
      const value = metadata.labels?.[label];
      if (value === undefined || (wanted !== undefined && value !== wanted)) return false;
    }
    return true;
  }

  /** What the change is to somebody who sees only this: whatever leaves is deleted, whatever enters is added. */
  #seen(change: Change<T>): Change<T> | undefined {
    const { object, initial } = change;
    const shown = this.#shows(object);
    if (change.type === "added") return shown ? change : undefined;
    // Of one who was evicted no labels are known, so the listener hears of more than it must.
    const before = change.evicted ? this.#isHere(change.old) : this.#shows(change.old);
    if (change.type === "deleted") return before ? change : undefined;
    if (shown) return before ? change : { type: "added", object, initial };
    return before ? { type: "deleted", object, old: change.old, initial, ...(change.evicted && { evicted: true }) } : undefined;
  }

  #isHere({ metadata }: KubeObject): boolean {
    return this.#extent.namespace === undefined || metadata.namespace === this.#extent.namespace;
  }
}
