// Names and metadata of new objects that people name.
import { newGUID } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { objectNameFor } from "../../crds/object-names.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Draft } from "../../kube/client/client.ts";
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

/** The metadata of a new object: a free object name for its CF name, and a new GUID. `labels` and `annotations` as `metadataForCreate` makes them. */
export function toNamedMetadata<T extends KubeObject>(
  cache: ClusterCache,
  ref: ResourceRef<T>,
  wanted: {
    namespace: string;
    name: string;
    fallback: string;
    labels?: Record<string, string> | undefined;
    annotations?: Record<string, string> | undefined;
  },
): Draft["metadata"] & { name: string; namespace: string } {
  const { namespace, labels, annotations } = wanted;
  return {
    name: freeObjectName(cache, ref, wanted),
    namespace,
    labels: { ...labels, [LABELS.guid]: newGUID() },
    ...(annotations && { annotations }),
  };
}
