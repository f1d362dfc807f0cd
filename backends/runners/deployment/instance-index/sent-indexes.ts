// The indexes that were given and that the cache does not show yet. In memory only: the next leader reads them from the pods.
import { LRUCache } from "lru-cache";

/** How long the index of a pod that the cache has never held stays reserved. By then the cache holds it, or the pod is gone. */
const UNSEEN_MS = 60_000;
/** Bound of the LRPs with pods that wait. */
const MAX_LRPS = 50_000;

export interface SentIndexes {
  /** Keeps the index for a pod of the cache; a pod never gets another one. */
  record(lrp: string, uid: string, index: number): void;
  /** Keeps an index that the API server has, and that the cache may not show yet. */
  recordUnseen(lrp: string, uid: string, index: number): void;
  find(lrp: string, uid: string): number | undefined;
  forget(lrp: string, uid: string): void;
  /**
   * Compares with the cache: `waiting` says of each cached pod whether it still waits behind its gate. Drops what the cache shows, and
   * returns the indexes of pods that it has never held.
   */
  reconcile(lrp: string, waiting: ReadonlyMap<string, boolean>): number[];
}

interface Sent {
  index: number;
  /** For a pod that the cache has never held: when the index was learnt. */
  unseenSince: number | undefined;
}

/** `now`: monotonic milliseconds. */
export function createSentIndexes(now: () => number = () => performance.now()): SentIndexes {
  const byLRP = new LRUCache<string, Map<string, Sent>>({ maxSize: MAX_LRPS, sizeCalculation: () => 1 });
  const add = (lrp: string, uid: string, entry: Sent): void => {
    const sent = byLRP.get(lrp) ?? new Map<string, Sent>();
    byLRP.set(lrp, sent);
    if (!sent.has(uid)) sent.set(uid, entry);
  };
  const forget = (lrp: string, uid: string): void => {
    const sent = byLRP.get(lrp);
    sent?.delete(uid);
    if (sent?.size === 0) byLRP.delete(lrp);
  };
  return {
    record: (lrp, uid, index) => add(lrp, uid, { index, unseenSince: undefined }),
    recordUnseen: (lrp, uid, index) => add(lrp, uid, { index, unseenSince: now() }),
    find: (lrp, uid) => byLRP.get(lrp)?.get(uid)?.index,
    forget,
    reconcile(lrp, waiting) {
      const unseen: number[] = [];
      for (const [uid, sent] of byLRP.get(lrp) ?? []) {
        if (waiting.get(uid)) sent.unseenSince = undefined;
        else if (!waiting.has(uid) && now() - (sent.unseenSince ?? -Infinity) < UNSEEN_MS) unseen.push(sent.index);
        else forget(lrp, uid);
      }
      return unseen;
    },
  };
}
