// Whether a controller has said something of an object as it is now. Pure.
import type { KubeObject } from "../../kube/api/object.ts";

/** Whether the object's status is about its current spec. */
export function isObserved(object: KubeObject): boolean {
  const status = object["status"] as { observedGeneration?: number } | undefined;
  return status?.observedGeneration === object.metadata.generation;
}
