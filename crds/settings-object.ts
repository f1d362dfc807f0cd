// Builds an object in the system namespace, or in none for a cluster-scoped kind.
import type { KubeObject } from "../kube/api/object.ts";
import { apiVersionOf, type ResourceRef } from "../kube/api/resource-ref.ts";
import { SYSTEM_NAMESPACE } from "./groups.ts";

export function systemObject(ref: ResourceRef, name: string, spec: object): KubeObject {
  return {
    apiVersion: apiVersionOf(ref),
    kind: ref.kind,
    metadata: { name, ...(ref.namespaced && { namespace: SYSTEM_NAMESPACE }) },
    spec,
  };
}
