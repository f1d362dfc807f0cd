// Lets a request wait, within a bound, for the controllers' result. Uses existing watches.
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { createWaiters } from "../../kube/cache/waiters.ts";
import type { ClusterCache } from "./cluster-cache.ts";
import { isTrue } from "./is-true.ts";

const recheckIntervalMs = 100;

/** Longest wait of a 201 for a new namespace and the caller's permissions in it, milliseconds: enough for a busy machine, shorter than client timeouts. */
export const NAMESPACE_READY_TIMEOUT_MS = 10_000;

/** True as soon as `condition` is, checked on every change of these kinds and ten times a second; false at the deadline (milliseconds). A condition that throws is not true yet. */
export async function waitForCache(
  cache: Pick<ClusterCache, "store">,
  refs: readonly ResourceRef[],
  condition: () => boolean,
  deadlineMs: number,
): Promise<boolean> {
  const waiters = createWaiters();
  const stops = refs.map((ref) => cache.store(ref).onChange(() => waiters.checkAll()));
  // Reviewed permissions (reviewed-permissions.ts) may change without any event.
  const again = setInterval(() => waiters.checkAll(), recheckIntervalMs);
  try {
    return await waiters.wait(() => isTrue(condition), deadlineMs);
  } finally {
    clearInterval(again);
    for (const stop of stops) stop();
  }
}
