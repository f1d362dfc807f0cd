// Waiting inside a request for what controllers make of it: on watches that exist anyway, never by polling, never long.
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { createWaiters } from "../../kube/cache/waiters.ts";
import type { View } from "./cluster-cache.ts";

const reviewedMs = 100;

/** How long a 201 waits for a new namespace and the caller's rights in it, milliseconds: longer than a busy machine needs, shorter than clients wait. */
export const NAMESPACE_WITHIN_MS = 10_000;

/** True as soon as `met` is, checked whenever one of these kinds (or RBAC) changes; false at the deadline (milliseconds). */
export async function waitUntil(view: View, refs: readonly ResourceRef[], met: () => boolean, deadlineMs: number): Promise<boolean> {
  const waiters = createWaiters();
  const stops = refs.map((ref) => view.store(ref).onChange(() => waiters.check()));
  // Rights that are reviewed (caller-rights.ts) become known without a change of any object.
  const again = setInterval(() => waiters.check(), reviewedMs);
  try {
    return await waiters.wait(met, deadlineMs);
  } finally {
    clearInterval(again);
    for (const stop of stops) stop();
  }
}
