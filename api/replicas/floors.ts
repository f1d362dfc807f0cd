// What this replica must have seen before it may answer: versions and deletions that some replica, this one too, has told a client of.
import { setTimeout as delay } from "node:timers/promises";
import type { Store } from "../../kube/reader.ts";
import { hasReached } from "../../kube/store.ts";
import type { View } from "../view.ts";

/**
 * One write: the kind (`plural.group`) and the version it led to. Or a deletion: the uid, and a version that the object had, since
 * whoever has not seen it come cannot see it go.
 */
export interface Mark {
  resource: string;
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

/** Floors over the stores of a view. `now` is a monotonic clock in milliseconds. */
export function createFloors(view: Pick<View, "storeOf" | "relist">, now: () => number = () => performance.now()): Floors {
  /** By kind for versions, of which the highest counts; by uid for deletions. */
  const floors = new Map<string, Floor>();
  const doubted = new Set<Store>();

  /** A store that is not synced cannot be read anyway; what it holds when it is again must be as new as all others say. */
  const missing = (): Floor[] => {
    if (floors.size === 0) return [];
    for (const [key, floor] of floors) if (isMet(floor)) floors.delete(key);
    return [...floors.values()].filter(({ store }) => store.synced);
  };
  const note = (mark: Mark): Floor[] => {
    const store = view.storeOf(mark.resource);
    // A kind that only a newer version of the platform reads has no store.
    if (!store || isMet({ store, mark })) return [];
    const key = keyOf(mark);
    const known = floors.get(key);
    const told: Floor = { store, mark, since: known?.since ?? now(), told: now() };
    floors.set(key, known && isWithin(mark, known.mark) ? { ...known, told: now() } : told);
    if (floors.size > maxGone) floors.delete([...floors.keys()].find((one) => floors.get(one)?.mark.gone !== undefined) ?? "");
    return [told];
  };
  /** A watch may stand still and not know it, or the server was restored and counts from an older version: in both cases a list is the truth. */
  const doubt = async (store: Store): Promise<void> => {
    if (doubted.has(store)) return;
    doubted.add(store);
    for (;;) {
      await delay(doubtEveryMs, undefined, { ref: false });
      if (store.state === "stopped" || !missing().some((floor) => floor.store === store)) break;
      const asked = now();
      await view.relist(store.ref);
      for (const [key, floor] of floors) if (floor.store === store && floor.told <= asked) floors.delete(key);
    }
    doubted.delete(store);
  };

  return {
    async take(marks, deadlineMs) {
      const noted = marks.flatMap(note);
      const reached = await Promise.all(noted.map((floor) => waitFor(floor, deadlineMs)));
      noted.forEach(({ store }, at) => void (reached[at] || doubt(store)));
      return reached.every(Boolean);
    },
    settled(deadlineMs) {
      const open = missing();
      if (open.length === 0) return undefined;
      return Promise.all(open.map((floor) => waitFor(floor, deadlineMs))).then((reached) => reached.every(Boolean));
    },
    behindMs: () => missing().reduce((longest, { since }) => Math.max(longest, now() - since), 0),
  };
}

function keyOf(mark: Mark): string {
  return mark.gone ?? mark.resource;
}

/** Whether `mark` asks for no more than `known`, of the same key, does. */
function isWithin(mark: Mark, known: Mark): boolean {
  return hasReached(known.version, mark.version);
}

function isMet({ store, mark }: Pick<Floor, "store" | "mark">): boolean {
  if (!store.synced || !hasReached(store.resourceVersion, mark.version)) return false;
  const object = mark.gone === undefined ? undefined : store.byUid(mark.gone);
  return !object || object.metadata.deletionTimestamp !== undefined;
}

async function waitFor({ store, mark }: Floor, deadlineMs: number): Promise<boolean> {
  const started = performance.now();
  if (!(await store.waitFor(mark.version, deadlineMs))) return false;
  return mark.gone === undefined || store.waitGone(mark.gone, Math.max(deadlineMs - (performance.now() - started), 0));
}
