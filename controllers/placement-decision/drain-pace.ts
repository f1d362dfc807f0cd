// How fast processes leave a cluster: one after the other, so that a drain does not start all their instances elsewhere at once. Each cluster has a queue of its own for drains and one for failovers.
import { LRUCache } from "lru-cache";

/** Half a process a second. */
const INTERVAL_MS = 2_000;
const MAX_WAITING = 50_000;
const MAX_QUEUES = 1_000;

export interface DrainPace {
  /** Milliseconds until the turn of this process in a queue; 0: now. A turn that has come is taken once. */
  take(queue: string, id: string, now: number): number;
}

export function createDrainPace(): DrainPace {
  const turns = new LRUCache<string, number>({ maxSize: MAX_WAITING, sizeCalculation: () => 1 });
  /** By queue. */
  const next = new LRUCache<string, number>({ max: MAX_QUEUES });
  return {
    take(queue, id, now) {
      const key = `${queue} ${id}`;
      const turn = turns.get(key) ?? Math.max(now, next.get(queue) ?? now);
      if (!turns.has(key)) next.set(queue, turn + INTERVAL_MS);
      if (turn <= now) turns.delete(key);
      else turns.set(key, turn);
      return Math.max(turn - now, 0);
    },
  };
}
