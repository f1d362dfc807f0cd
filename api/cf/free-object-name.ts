// Object names for new objects that people name.
import { objectNameFor } from "../../crds/object-names.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

/** The object name for a CF name that no other object of the kind has in the namespace; `fallback` for names without an ASCII letter or digit. */
export function freeObjectName<T extends KubeObject>(
  cache: ClusterCache,
  ref: ResourceRef<T>,
  { namespace, name, fallback }: { namespace: string; name: string; fallback: string },
): string {
  const store = cache.store(ref);
  return objectNameFor(name, fallback, (candidate) => store.find({ namespace, name: candidate }) !== undefined);
}
