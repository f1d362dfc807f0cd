// Holds replies until the cache has observed every version and deletion that any replica, this one included, has reported to a client.
import { setTimeout as delay } from "node:timers/promises";
import type { Store } from "../../kube/cache/reader.ts";
import { NotPermitted, NotSynced } from "../../kube/cache/errors.ts";
import { hasReached } from "../../kube/api/resource-version.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

/**
 * A write: the kind (`plural.group`) and the resulting version. For a deletion also the uid (`gone`); the version is then one that the object had,
 * since a cache that has not observed the object cannot observe its deletion.
 */
export interface WriteMark {
  resource: string;
  /** The object's namespace; absent for cluster-scoped kinds and for marks of a whole kind. */
  namespace?: string | undefined;
  version: string;
  gone?: string | undefined;
}

export interface ReadBarrier {
  /** True once the cache has observed all marks, false at the deadline (milliseconds). From this call on `wait` includes them. */
  addAndWait(marks: readonly WriteMark[], deadlineMs: number): Promise<boolean>;
  /** Undefined when all marks so far are observed; else true once they are, false at the deadline (milliseconds). Later marks do not extend it. */
  wait(deadlineMs: number): Promise<boolean> | undefined;
  /** Age of the oldest mark that is not observed, milliseconds; 0 when there is none. */
  lagMs(): number;
}

/** A kind whose watch lags is listed again at this interval, milliseconds. */
const relistIntervalMs = 1000;
/** Bound on pending requirements; beyond it the oldest deletion is dropped. */
const maxDeletions = 10_000;

interface Requirement {
  store: Store;
  mark: WriteMark;
  /** Since when a mark of this key is missing, and when the last one was recorded. */
  since: number;
  recordedAt: number;
  /** Resolves when a list has shown that the cache cannot observe more of this key. */
  dropped: PromiseWithResolvers<true>;
}

export type BarrierCache = Pick<ClusterCache, "findStore" | "relist">;

/** `now` is a monotonic clock in milliseconds. */
export function createReadBarrier(cache: BarrierCache, now: () => number = () => performance.now()): ReadBarrier {
  return new StoreReadBarrier(cache, now);
}

class StoreReadBarrier implements ReadBarrier {
  readonly #cache: BarrierCache;
  readonly #now: () => number;
  /** Versions by kind and namespace, of which the highest counts; deletions by uid. */
  readonly #requirements = new Map<string, Requirement>();
  readonly #relisting = new Set<Store>();

  constructor(view: BarrierCache, now: () => number) {
    this.#cache = view;
    this.#now = now;
  }

  async addAndWait(marks: readonly WriteMark[], deadlineMs: number): Promise<boolean> {
    return this.#waitForAll(
      marks.flatMap((mark) => this.#record(mark)),
      deadlineMs,
    );
  }

  wait(deadlineMs: number): Promise<boolean> | undefined {
    const open = this.#unmet();
    if (open.length === 0) return undefined;
    return this.#waitForAll(open, deadlineMs);
  }

  lagMs(): number {
    return this.#unmet().reduce((longest, { since }) => Math.max(longest, this.#now() - since), 0);
  }

  async #waitForAll(floors: readonly Requirement[], deadlineMs: number): Promise<boolean> {
    const reached = await Promise.all(floors.map((floor) => waitForRequirement(floor, deadlineMs)));
    floors.forEach(({ store }, at) => void (reached[at] || this.#relistUntilMet(store)));
    return reached.every(Boolean);
  }

  /** Skips stores that are not synced, since reads of them throw; their requirements apply again once they are. */
  #unmet(): Requirement[] {
    if (this.#requirements.size === 0) return [];
    for (const [key, floor] of this.#requirements) if (isSatisfied(floor)) this.#requirements.delete(key);
    return [...this.#requirements.values()].filter(isSynced);
  }

  #record(mark: WriteMark): Requirement[] {
    const store = this.#cache.findStore(mark.resource);
    // A newer replica may send marks of a kind that this one does not read.
    if (!store || isSatisfied({ store, mark })) return [];
    const key = keyOf(mark);
    const known = this.#requirements.get(key);
    const told = this.#now();
    const dropped = known?.dropped ?? Promise.withResolvers<true>();
    const floor: Requirement = { store, mark, since: known?.since ?? told, recordedAt: told, dropped };
    this.#requirements.set(key, known && isImpliedBy(mark, known.mark) ? { ...known, recordedAt: told } : floor);
    if (this.#requirements.size > maxDeletions) this.#dropOldestDeletion();
    return [floor];
  }

  #dropOldestDeletion(): void {
    for (const [key, { mark }] of this.#requirements)
      if (mark.gone !== undefined) return void this.#requirements.delete(key);
  }

  /** The watch may have stalled, or the server was restored from a backup with older versions: a list is authoritative in both cases. */
  async #relistUntilMet(store: Store): Promise<void> {
    if (this.#relisting.has(store)) return;
    this.#relisting.add(store);
    for (;;) {
      await delay(relistIntervalMs, undefined, { ref: false });
      if (store.state === "stopped" || !this.#unmet().some((floor) => floor.store === store)) break;
      const asked = this.#now();
      await this.#cache.relist(store.ref);
      for (const [key, floor] of this.#requirements)
        if (floor.store === store && floor.recordedAt <= asked) {
          this.#requirements.delete(key);
          floor.dropped.resolve(true);
        }
    }
    this.#relisting.delete(store);
  }
}

function keyOf(mark: WriteMark): string {
  return mark.gone ?? `${mark.resource} ${mark.namespace ?? ""}`;
}

/** Whether `known`, a mark of the same key, requires at least as much as `mark`. */
function isImpliedBy(mark: WriteMark, known: WriteMark): boolean {
  return hasReached(known.version, mark.version);
}

/** With one watch per namespace, each namespace has its own version and sync status. */
function isSynced({ store, mark }: Pick<Requirement, "store" | "mark">): boolean {
  return store.syncStatusOf(mark.namespace).synced;
}

function isSatisfied(floor: Pick<Requirement, "store" | "mark">): boolean {
  const { store, mark } = floor;
  if (!isSynced(floor) || !hasReached(store.resourceVersionIn(mark.namespace), mark.version)) return false;
  return mark.gone === undefined || isDeleted(store, mark.gone);
}

/** The namespace of the object must be synced. */
function isDeleted(store: Store, uid: string): boolean {
  try {
    const object = store.byUid(uid);
    return !object || object.metadata.deletionTimestamp !== undefined;
  } catch (error) {
    // No permitted namespace has it, and its own is permitted.
    if (error instanceof NotPermitted) return true;
    // Likewise once anything can be read: its own namespace is synced, and another one is being listed.
    if (error instanceof NotSynced) return store.synced;
    throw error;
  }
}

function waitForRequirement(floor: Requirement, deadlineMs: number): Promise<boolean> {
  return Promise.race([waitUntilObserved(floor, deadlineMs), floor.dropped.promise]);
}

async function waitUntilObserved({ store, mark }: Requirement, deadlineMs: number): Promise<boolean> {
  const startedAt = performance.now();
  if (!(await store.waitForVersion(mark.version, deadlineMs, mark.namespace))) return false;
  return (
    mark.gone === undefined || store.waitDeleted(mark.gone, Math.max(deadlineMs - (performance.now() - startedAt), 0))
  );
}
