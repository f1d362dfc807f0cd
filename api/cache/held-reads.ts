// Holds a GET of an object in progress until the object changes, so that a client that polls every few seconds gets the change at once.
// Uses existing watches only and bounds both time and number: the third bounded exception of the design.
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { createWaiters, type Waiters } from "../../kube/cache/waiters.ts";
import type { ClusterCache } from "./cluster-cache.ts";
import { isTrue } from "./is-true.ts";

/** Longest hold of one request, milliseconds: longer than a small app takes to stage or start, shorter than any client's timeout. */
export const MAX_HOLD_MS = 5_000;
/** The same for a build, which takes as long as the app's own tools: `cf` sleeps 3 s after each answer that says it is not done. */
export const MAX_BUILD_HOLD_MS = 15_000;
/** Bound on concurrently held requests; further ones are answered at once. */
export const MAX_HELD_READS = 100;
/** Rechecks, in milliseconds, because states that depend on time or on reviewed permissions change without an event. */
const RECHECK_INTERVAL_MS = 500;

export interface HeldReads {
  /**
   * Resolves as soon as `isUnderWay` is false or throws, checked on every change of these kinds; at the deadline; and when `signal` aborts.
   * Resolves at once when too many are held. Never rejects.
   */
  holdWhile(
    refs: readonly ResourceRef[],
    isUnderWay: () => boolean,
    options: { signal: AbortSignal; maxMs?: number | undefined },
  ): Promise<void>;
  /** Releases all held requests and holds none from now on: for shutdown. */
  close(): void;
}

export function createHeldReads(
  cache: Pick<ClusterCache, "store">,
  { maxHeld = MAX_HELD_READS, maxHoldMs = MAX_HOLD_MS } = {},
): HeldReads {
  const held = new Set<Waiters>();
  let closed = false;

  /** Calls `check` on every change that may end the hold. Returns the unsubscribe function. */
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
    async holdWhile(refs, isUnderWay, { signal, maxMs = maxHoldMs }) {
      const isOver = (): boolean => closed || signal.aborted || !isTrue(isUnderWay);
      if (isOver() || held.size >= maxHeld) return;
      const waiters = createWaiters();
      held.add(waiters);
      const unsubscribe = subscribe(refs, signal, () => waiters.checkAll());
      try {
        await waiters.wait(isOver, maxMs);
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
