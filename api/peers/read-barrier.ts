// What this replica must have seen before it may answer: versions and deletions that some replica, this one too, has told a client of.
import { setTimeout as delay } from "node:timers/promises";
import { NotPermitted, NotSynced, type Store } from "../../kube/cache/reader.ts";
import { hasReached } from "../../kube/cache/store.ts";
import type { View } from "../cache/cluster-cache.ts";

/**
 * One write: the kind (`plural.group`) and the version it led to. Or a deletion: the uid, and a version that the object had, since
 * whoever has not seen it come cannot see it go.
 */
export interface Mark {
  resource: string;
  /** Of what was written; absent for cluster-scoped kinds and for marks of a whole kind. */
  namespace?: string | undefined;
  version: string;
  gone?: string | undefined;
}

export interface Floors {
  /** True once all of it was seen here, false at the deadline (milliseconds). From this call on `settled` waits for it. */
  take(marks: readonly Mark[], deadlineMs: number): Promise<boolean>;
  /** Undefined when everything told so far was seen; else true once it was, false at the deadline. What is told later is not waited for. */
  settled(deadlineMs: number): Promise<boolean> | undefined;
  /** For how long something told has not been seen, milliseconds; 0 when nothing is missing. */
  behindMs(): number;
}

/** A watch that stays behind is doubted, and its kind listed again, so often. Milliseconds. */
const doubtEveryMs = 1000;
/** Deletions that wait at once; beyond it the oldest is let go. */
const maxGone = 10_000;

interface Floor {
  store: Store;
  mark: Mark;
  /** Since when something of this key is missing, and when it was told last. */
  since: number;
  told: number;
}

export type FloorView = Pick<View, "storeOf" | "relist">;

/** Floors over the stores of a view. `now` is a monotonic clock in milliseconds. */
export function createFloors(view: FloorView, now: () => number = () => performance.now()): Floors {
  return new FloorTable(view, now);
}

class FloorTable implements Floors {
  readonly #view: FloorView;
  readonly #now: () => number;
  /** By kind for versions, of which the highest counts; by uid for deletions. */
  readonly #floors = new Map<string, Floor>();
  readonly #doubted = new Set<Store>();

  constructor(view: FloorView, now: () => number) {
    this.#view = view;
    this.#now = now;
  }

  async take(marks: readonly Mark[], deadlineMs: number): Promise<boolean> {
    return this.#wait(marks.flatMap((mark) => this.#note(mark)), deadlineMs);
  }

  settled(deadlineMs: number): Promise<boolean> | undefined {
    const open = this.#missing();
    if (open.length === 0) return undefined;
    return this.#wait(open, deadlineMs);
  }

  behindMs(): number {
    return this.#missing().reduce((longest, { since }) => Math.max(longest, this.#now() - since), 0);
  }

  async #wait(floors: readonly Floor[], deadlineMs: number): Promise<boolean> {
    const reached = await Promise.all(floors.map((floor) => waitFor(floor, deadlineMs)));
    floors.forEach(({ store }, at) => void (reached[at] || this.#doubt(store)));
    return reached.every(Boolean);
  }

  /** A store that is not synced cannot be read anyway; what it holds when it is again must be as new as all others say. */
  #missing(): Floor[] {
    if (this.#floors.size === 0) return [];
    for (const [key, floor] of this.#floors) if (isMet(floor)) this.#floors.delete(key);
    return [...this.#floors.values()].filter(isSynced);
  }

  #note(mark: Mark): Floor[] {
    const store = this.#view.storeOf(mark.resource);
    // A kind that only a newer version of the platform reads has no store.
    if (!store || isMet({ store, mark })) return [];
    const key = keyOf(mark);
    const known = this.#floors.get(key);
    const told = this.#now();
    const floor: Floor = { store, mark, since: known?.since ?? told, told };
    this.#floors.set(key, known && isWithin(mark, known.mark) ? { ...known, told } : floor);
    if (this.#floors.size > maxGone) this.#forgetOldestGone();
    return [floor];
  }

  #forgetOldestGone(): void {
    for (const [key, { mark }] of this.#floors) if (mark.gone !== undefined) return void this.#floors.delete(key);
  }

  /** A watch may stand still and not know it, or the server was restored and counts from an older version: in both cases a list is the truth. */
  async #doubt(store: Store): Promise<void> {
    if (this.#doubted.has(store)) return;
    this.#doubted.add(store);
    for (;;) {
      await delay(doubtEveryMs, undefined, { ref: false });
      if (store.state === "stopped" || !this.#missing().some((floor) => floor.store === store)) break;
      const asked = this.#now();
      await this.#view.relist(store.ref);
      for (const [key, floor] of this.#floors) if (floor.store === store && floor.told <= asked) this.#floors.delete(key);
    }
    this.#doubted.delete(store);
  }
}

function keyOf(mark: Mark): string {
  return mark.gone ?? `${mark.resource} ${mark.namespace ?? ""}`;
}

/** Whether `mark` asks for no more than `known`, of the same key, does. */
function isWithin(mark: Mark, known: Mark): boolean {
  return hasReached(known.version, mark.version);
}

/** Where namespaces are watched one by one, each has a version and a sight of its own. */
function isSynced({ store, mark }: Pick<Floor, "store" | "mark">): boolean {
  return store.sightOf(mark.namespace).synced;
}

function isMet(floor: Pick<Floor, "store" | "mark">): boolean {
  const { store, mark } = floor;
  if (!isSynced(floor) || !hasReached(store.versionIn(mark.namespace), mark.version)) return false;
  return mark.gone === undefined || isGone(store, mark.gone);
}

/** In a namespace that is in sight. */
function isGone(store: Store, uid: string): boolean {
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

async function waitFor({ store, mark }: Floor, deadlineMs: number): Promise<boolean> {
  const started = performance.now();
  if (!(await store.waitFor(mark.version, deadlineMs, mark.namespace))) return false;
  return mark.gone === undefined || store.waitGone(mark.gone, Math.max(deadlineMs - (performance.now() - started), 0));
}
