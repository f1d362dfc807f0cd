// A ClusterCache over a handful of objects, for unit tests of what reads it.
import { guidOf } from "../../../crds/guid.ts";
import { Org } from "../../../crds/org/org.ts";
import { Space } from "../../../crds/space/space.ts";
import type { KubeObject, ObjectKey } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { ClusterCache } from "../cluster-cache.ts";

/** Finds objects by key and lists them by kind; GUIDs are the objects' own. The first Space and Org own every namespace. */
export function cacheOf(...objects: readonly KubeObject[]): ClusterCache {
  const ofKind = (ref: ResourceRef): KubeObject[] => objects.filter(({ kind }) => kind === ref.kind);
  const cache = {
    store: (ref: ResourceRef) => ({
      synced: true,
      list: () => ofKind(ref),
      byIndex: () => ofKind(ref),
      find: ({ namespace, name }: ObjectKey) =>
        ofKind(ref).find(({ metadata }) => metadata.name === name && (metadata.namespace ?? "") === (namespace ?? "")),
    }),
    versionOf: () => 0,
    guid: (_ref: ResourceRef, object: KubeObject) => guidOf(object),
    spaceOf: () => ofKind(Space)[0],
    orgOf: () => ofKind(Org)[0],
  };
  return cache as unknown as ClusterCache;
}
