// Finds the objects and namespaces that a request names, so that the caller's permissions on them can be reviewed before the handler runs.
import { App } from "../../crds/app/app.ts";
import type { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { type ClusterCache, KINDS_WITH_GUID } from "../cache/cluster-cache.ts";

/** Bound on the strings of one request that are looked up as GUIDs. */
const MAX_NAMES = 2000;

export interface TargetObject {
  ref: ResourceRef;
  object: KubeObject;
}

export interface ReviewTargets {
  namespaces: ReadonlySet<string>;
  /** Named objects and the apps, spaces and orgs that they belong to. */
  objects: readonly TargetObject[];
  /** Kinds of which every object is reviewed, with the objects. */
  lists: readonly { ref: ResourceRef; objects: readonly KubeObject[] }[];
}

/** `values`: the request's parameters, query and body. `listed`: the kinds that it lists. */
export function findReviewTargets(
  cache: ClusterCache,
  values: readonly unknown[],
  listed: readonly ResourceRef[],
): ReviewTargets {
  const named = [...stringsIn(values)].flatMap((guid) => findByGUID(cache, guid));
  const objects = [...new Map(named.flatMap((one) => withOwners(cache, one)).map((one) => [one.object, one])).values()];
  const namespaces = new Set([SYSTEM_NAMESPACE, ...objects.flatMap(({ object }) => namespacesOf(object))]);
  const orgSpaces = objects
    .filter(({ ref }) => ref === Org)
    .flatMap(({ object }) => cache.store(Space).list({ namespace: (object as Org).status?.namespace ?? "" }));
  const within = new Set([...namespaces, ...orgSpaces.flatMap(namespacesOf)]);
  const isWithin = ({ metadata: { namespace } }: KubeObject): boolean =>
    named.length === 0 || namespace === undefined || within.has(namespace);
  return {
    namespaces,
    objects,
    lists: [
      { ref: Space, objects: orgSpaces },
      ...listed.map((ref) => ({ ref, objects: [...cache.store(ref).list()].filter(isWithin) })),
    ],
  };
}

function stringsIn(values: readonly unknown[]): Set<string> {
  const found = new Set<string>();
  const pending = [...values];
  while (pending.length > 0 && found.size < MAX_NAMES) {
    const value = pending.pop();
    if (typeof value === "string") found.add(value);
    else if (typeof value === "object" && value !== null) pending.push(...(Object.values(value) as unknown[]));
  }
  return found;
}

function findByGUID(cache: ClusterCache, guid: string): TargetObject[] {
  return KINDS_WITH_GUID.flatMap((ref) =>
    cache
      .store(ref)
      .byIndex("guid", guid)
      .map((object) => ({ ref, object })),
  );
}

/** The object, its app, its space, its org, and the orgs that it is shared with: replies name them too. */
function withOwners(cache: ClusterCache, target: TargetObject): TargetObject[] {
  const { namespace } = target.object.metadata;
  const { appRef, sharedOrgs = [] } = (target.object as Partial<Domain & { spec: { appRef: { name: string } } }>)
    .spec ?? { sharedOrgs: [] };
  const app = appRef && cache.store(App).find({ namespace: namespace ?? "", name: appRef.name });
  const space = cache.spaceOf(namespace);
  const org = cache.orgOf(space ? space.metadata.namespace : namespace);
  const shared = sharedOrgs.flatMap((name) => cache.store(Org).find({ name }) ?? []);
  return [
    target,
    ...(app ? [{ ref: App as ResourceRef, object: app as KubeObject }] : []),
    ...(space ? [{ ref: Space as ResourceRef, object: space as KubeObject }] : []),
    ...[...(org ? [org] : []), ...shared].map((object) => ({ ref: Org as ResourceRef, object: object as KubeObject })),
  ];
}

/** The object's namespace and, for a space or an org, the namespace that backs it. */
function namespacesOf(object: KubeObject): string[] {
  const { status } = object as { status?: { namespace?: string } };
  return [object.metadata.namespace, status?.namespace].filter((one) => one !== undefined);
}
