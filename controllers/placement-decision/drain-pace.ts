// How fast processes leave drained clusters: one after the other, so that a drain is no stampede.
import { LRUCache } from "lru-cache";

/** Half a process a second. */
const INTERVAL_MS = 2_000;
const MAX_WAITING = 50_000;

export interface DrainPace {
  /** Milliseconds until the turn of this process; 0: now. A turn that has come is taken once. */
  take(id: string, now: number): number;
}

export function createDrainPace(): DrainPace {
  const turns = new LRUCache<string, number>({ maxSize: MAX_WAITING, sizeCalculation: () => 1 });
  let next = -Infinity;
  return {
    take(id, now) {
      const turn = turns.get(id) ?? Math.max(now, next);
      if (!turns.has(id)) next = turn + INTERVAL_MS;
      if (turn <= now) turns.delete(id);
      else turns.set(id, turn);
      return Math.max(turn - now, 0);
    },
  };
}
