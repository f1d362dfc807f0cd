// Waiting inside a request for what controllers make of it: on watches that exist anyway, never by polling, never long.
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { createWaiters } from "../../kube/cache/waiters.ts";
import type { ClusterCache } from "./cluster-cache.ts";

const recheckIntervalMs = 100;

/** How long a 201 waits for a new namespace and the caller's rights in it, milliseconds: longer than a busy machine needs, shorter than clients wait. */
export const NAMESPACE_READY_TIMEOUT_MS = 10_000;

/** True as soon as `met` is, checked whenever one of these kinds (or RBAC) changes; false at the deadline (milliseconds). */
export async function waitUntil(
  cache: ClusterCache,
  refs: readonly ResourceRef[],
  condition: () => boolean,
  deadlineMs: number,
): Promise<boolean> {
  const waiters = createWaiters();
  const stops = refs.map((ref) => cache.store(ref).onChange(() => waiters.checkAll()));
  // Reviewed permissions (reviewed-permissions.ts) may change without a change of any object.
  const again = setInterval(() => waiters.checkAll(), recheckIntervalMs);
  try {
    return await waiters.wait(condition, deadlineMs);
  } finally {
    clearInterval(again);
    for (const stop of stops) stop();
  }
}
