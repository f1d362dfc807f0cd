// What this replica must have seen before it may answer: versions and deletions that some replica, this one too, has told a client of.
import { setTimeout as delay } from "node:timers/promises";
import type { Store } from "../../kube/cache/reader.ts";
import { NotPermitted, NotSynced } from "../../kube/cache/errors.ts";
import { hasReached } from "../../kube/api/resource-version.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

/**
 * One write: the kind (`plural.group`) and the version it led to. Or a deletion: the uid, and a version that the object had, since
 * whoever has not seen it come cannot see it go.
 */
export interface WriteMark {
  resource: string;
  /** Of what was written; absent for cluster-scoped kinds and for marks of a whole kind. */
  namespace?: string | undefined;
  version: string;
  gone?: string | undefined;
}

export interface ReadBarrier {
  /** True once all of it was seen here, false at the deadline (milliseconds). From this call on `settled` waits for it. */
  addAndWait(marks: readonly WriteMark[], deadlineMs: number): Promise<boolean>;
  /** Undefined when everything told so far was seen; else true once it was, false at the deadline. What is told later is not waited for. */
  wait(deadlineMs: number): Promise<boolean> | undefined;
  /** For how long something told has not been seen, milliseconds; 0 when nothing is missing. */
  lagMs(): number;
}

/** A watch that stays behind is doubted, and its kind listed again, so often. Milliseconds. */
const relistIntervalMs = 1000;
/** Deletions that wait at once; beyond it the oldest is let go. */
const maxDeletions = 10_000;

interface Requirement {
  store: Store;
  mark: WriteMark;
  /** Since when something of this key is missing, and when it was told last. */
  since: number;
  recordedAt: number;
}

export type BarrierCache = Pick<ClusterCache, "findStore" | "relist">;

/** Floors over the stores of a view. `now` is a monotonic clock in milliseconds. */
export function createReadBarrier(cache: BarrierCache, now: () => number = () => performance.now()): ReadBarrier {
  return new StoreReadBarrier(cache, now);
}

class StoreReadBarrier implements ReadBarrier {
  readonly #cache: BarrierCache;
  readonly #now: () => number;
  /** By kind for versions, of which the highest counts; by uid for deletions. */
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

  /** A store that is not synced cannot be read anyway; what it holds when it is again must be as new as all others say. */
  #unmet(): Requirement[] {
    if (this.#requirements.size === 0) return [];
    for (const [key, floor] of this.#requirements) if (isSatisfied(floor)) this.#requirements.delete(key);
    return [...this.#requirements.values()].filter(isSynced);
  }

  #record(mark: WriteMark): Requirement[] {
    const store = this.#cache.findStore(mark.resource);
    // A kind that only a newer version of the platform reads has no store.
    if (!store || isSatisfied({ store, mark })) return [];
    const key = keyOf(mark);
    const known = this.#requirements.get(key);
    const told = this.#now();
    const floor: Requirement = { store, mark, since: known?.since ?? told, recordedAt: told };
    this.#requirements.set(key, known && isImpliedBy(mark, known.mark) ? { ...known, recordedAt: told } : floor);
    if (this.#requirements.size > maxDeletions) this.#dropOldestDeletion();
    return [floor];
  }

  #dropOldestDeletion(): void {
    for (const [key, { mark }] of this.#requirements)
      if (mark.gone !== undefined) return void this.#requirements.delete(key);
  }

  /** A watch may stand still and not know it, or the server was restored and counts from an older version: in both cases a list is the truth. */
  async #relistUntilMet(store: Store): Promise<void> {
    if (this.#relisting.has(store)) return;
    this.#relisting.add(store);
    for (;;) {
      await delay(relistIntervalMs, undefined, { ref: false });
      if (store.state === "stopped" || !this.#unmet().some((floor) => floor.store === store)) break;
      const asked = this.#now();
      await this.#cache.relist(store.ref);
      for (const [key, floor] of this.#requirements)
        if (floor.store === store && floor.recordedAt <= asked) this.#requirements.delete(key);
    }
    this.#relisting.delete(store);
  }
}

function keyOf(mark: WriteMark): string {
  return mark.gone ?? `${mark.resource} ${mark.namespace ?? ""}`;
}

/** Whether `mark` asks for no more than `known`, of the same key, does. */
function isImpliedBy(mark: WriteMark, known: WriteMark): boolean {
  return hasReached(known.version, mark.version);
}

/** Where namespaces are watched one by one, each has a version and a sight of its own. */
function isSynced({ store, mark }: Pick<Requirement, "store" | "mark">): boolean {
  return store.syncStatusOf(mark.namespace).synced;
}

function isSatisfied(floor: Pick<Requirement, "store" | "mark">): boolean {
  const { store, mark } = floor;
  if (!isSynced(floor) || !hasReached(store.resourceVersionIn(mark.namespace), mark.version)) return false;
  return mark.gone === undefined || isDeleted(store, mark.gone);
}

/** In a namespace that is in sight. */
function isDeleted(store: Store, uid: string): boolean {
  try {
    const object = store.byUid(uid);
    return !object || object.metadata.deletionTimestamp !== undefined;
  } catch (error) {
    // It is not in what is in sight, and there is more that is not.
    if (error instanceof NotPermitted) return true;
    // The same, as soon as anything can be read: its own namespace is in sight, and another is being listed.
    if (error instanceof NotSynced) return store.synced;
    throw error;
  }
}

async function waitForRequirement({ store, mark }: Requirement, deadlineMs: number): Promise<boolean> {
  const startedAt = performance.now();
  if (!(await store.waitForVersion(mark.version, deadlineMs, mark.namespace))) return false;
  return (
    mark.gone === undefined || store.waitDeleted(mark.gone, Math.max(deadlineMs - (performance.now() - startedAt), 0))
  );
}
