// Limits on history: which old objects of an app are deleted.
import { creationSortKey } from "../../crds/guid.ts";
import { ignoreGone } from "../../kube/client/ignore-gone.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";

/** Number of objects kept per app. */
export const HISTORY_LIMITS = {
  packages: 5,
  droplets: 5,
  builds: 100,
  revisions: 100,
  rollouts: 100,
  tasks: 100,
} as const;

/** The objects beyond the newest `keep`, oldest first, without those that are protected or already being deleted. */
export function planExcess<T extends KubeObject>(
  objects: readonly T[],
  limit: number,
  isProtected: (object: T) => boolean,
): T[] {
  const newestFirst = objects
    .filter((object) => !object.metadata.deletionTimestamp)
    .toSorted((a, b) => (creationSortKey(a) < creationSortKey(b) ? 1 : -1));
  return newestFirst
    .slice(limit)
    .filter((object) => !isProtected(object))
    .toReversed();
}

/** Deletes objects by uid; ignores those that are gone or were replaced. */
export async function deleteAll<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  objects: readonly T[],
): Promise<void> {
  for (const { metadata } of objects)
    await ignoreGone(
      client.delete(ref, metadata, { preconditions: { uid: metadata.uid }, propagationPolicy: "Background" }),
    );
}
