// Bounds on history: which old objects of an app may go, and their removal.
import { creationOrder } from "../../crds/guid.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";

/** What is kept per app. */
export const KEPT = { packages: 5, droplets: 5, builds: 100, revisions: 100 } as const;

/** The objects beyond the newest `keep`, oldest first, without the protected ones and those already going. */
export function planSurplus<T extends KubeObject>(objects: readonly T[], keep: number, isProtected: (object: T) => boolean): T[] {
  const newestFirst = objects.filter((object) => !object.metadata.deletionTimestamp).toSorted((a, b) => (creationOrder(a) < creationOrder(b) ? 1 : -1));
  return newestFirst.slice(keep).filter((object) => !isProtected(object)).toReversed();
}

/** Deletes objects as they were seen; one that is gone or has another uid by now is none of ours. */
export async function removeAll<T extends KubeObject>(client: KubeClient, ref: ResourceRef<T>, objects: readonly T[]): Promise<void> {
  for (const object of objects) {
    try {
      await client.delete(ref, object.metadata, { preconditions: { uid: object.metadata.uid }, propagationPolicy: "Background" });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
