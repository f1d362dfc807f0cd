// Holds a GET of an object that is under way until it changes, so that a client that polls every few seconds hears of it at once.
// Only on watches that exist anyway, for a few seconds, and only so many at once: the third bounded exception of the design.
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { createWaiters, type Waiters } from "../../kube/cache/waiters.ts";
import type { ClusterCache } from "./cluster-cache.ts";

/** How long one request is held at most, milliseconds: longer than a small app takes to stage or start, shorter than any client waits. */
export const MAX_HOLD_MS = 5_000;
/** Requests held at once; further ones are answered at once. */
export const MAX_HELD_READS = 100;
/** States that depend on the time or on reviewed permissions change without an event, milliseconds. */
const RECHECK_INTERVAL_MS = 500;

export interface HeldReads {
  /**
   * Resolves as soon as `isUnderWay` is false or throws, checked on every change of these kinds; at the deadline; and when `signal` aborts.
   * At once when too many are held. Never rejects.
   */
  holdWhile(refs: readonly ResourceRef[], isUnderWay: () => boolean, signal: AbortSignal): Promise<void>;
  /** Answers all held requests and holds none from now on: the process shuts down. */
  close(): void;
}

export function createHeldReads(
  cache: Pick<ClusterCache, "store">,
  { maxHeld = MAX_HELD_READS, maxHoldMs = MAX_HOLD_MS } = {},
): HeldReads {
  const held = new Set<Waiters>();
  let closed = false;

  /** Calls `check` on every change that may end the hold; the result stops that. */
  function subscribe(refs: readonly ResourceRef[], signal: AbortSignal, check: () => void): () => void {
    const stops = refs.flatMap((ref) => [cache.store(ref).onChange(check), cache.store(ref).onStateChange(check)]);
    const recheck = setInterval(check, RECHECK_INTERVAL_MS);
    signal.addEventListener("abort", check);
    return () => {
      clearInterval(recheck);
      signal.removeEventListener("abort", check);
      for (const stop of stops) stop();
    };
  }

  return {
    async holdWhile(refs, isUnderWay, signal) {
      const isOver = (): boolean => closed || signal.aborted || !isTrue(isUnderWay);
      if (isOver() || held.size >= maxHeld) return;
      const waiters = createWaiters();
      held.add(waiters);
      const unsubscribe = subscribe(refs, signal, () => waiters.checkAll());
      try {
        await waiters.wait(isOver, maxHoldMs);
      } finally {
        unsubscribe();
        held.delete(waiters);
      }
    },
    close() {
      closed = true;
      for (const waiters of held) waiters.checkAll();
    },
  };
}

/** What can no longer be read is not held: the handler answers with the error. */
function isTrue(condition: () => boolean): boolean {
  try {
    return condition();
  } catch {
    return false; // the handler asks again and gets the same error
  }
}
