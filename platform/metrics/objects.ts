// Counting objects from the caches of a process.
import type { Condition, KubeObject } from "../../kube/api/object.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Informers } from "../../kube/cache/informers.ts";

/** Values of the label `ready`: the condition Ready. */
export const READINESS = ["True", "False", "Unknown", "none"] as const;

export function readinessOf(object: KubeObject): (typeof READINESS)[number] {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: readonly Condition[] };
  return conditions.find(({ type }) => type === "Ready")?.status ?? "none";
}

/** A whole kind is held in the cache, and may be read. */
export function isSynced(informers: Informers, ref: ResourceRef): boolean {
  const id = resourceId(ref);
  return informers
    .status()
    .some(({ resource, synced, ...one }) => resource === id && synced && !one.labelSelector && !one.fieldSelector);
}
