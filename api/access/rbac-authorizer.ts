// What RBAC allows, answered from memory: an index fed by watches of the four RBAC kinds. Parked and silent watches throw; they never allow or deny.
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { AllowedNames } from "../../kube/rbac/rbac-index.ts";
import type { RbacKind, RbacUser, ResourceAttributes } from "../../kube/rbac/types.ts";
import { createWatchedRbacIndex } from "../../kube/rbac/watched-rbac-index.ts";
import type { Store } from "../../kube/cache/reader.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { InformerHandle } from "../../kube/cache/informers.ts";

/** The question about one object, or about any (no name) of a kind. */
export interface AccessAttributes {
  verb: string;
  on: ResourceRef;
  subresource?: string;
  namespace?: string;
  name?: string;
}

export interface RbacAuthorizer {
  /** @throws NotSynced, NotPermitted */
  allows(user: RbacUser, asked: AccessAttributes): boolean;
  /** Names that the user may use the verb on in one namespace ("" for cluster-scoped kinds). @throws NotSynced, NotPermitted */
  allowedNames(user: RbacUser, asked: AccessAttributes): AllowedNames;
  /** Namespaces in which a binding names the user or a group of theirs. */
  namespacesOf(user: RbacUser): string[];
  /** Grows with every change of RBAC. */
  version(): number;
}

/**
 * How far behind the cluster's RBAC an answer here may be at most, milliseconds: the published bound (docs/security.md). Changes arrive by watch, usually
 * in a few; a watch that has not been heard of for so long is not believed, and its readers get an error.
 */
export const RBAC_MAX_STALENESS_MS = 60_000;

/** One watch of an RBAC kind. */
export type RbacWatch = Pick<InformerHandle<KubeObject>, "store" | "freshAsOf">;

/** The refs whose stores feed the index. */
export const rbacKinds = { Role, ClusterRole, RoleBinding, ClusterRoleBinding } as const;

/** Keeps an index up to date with the four watches for as long as they live. They must be ensured with `hearWithinMs` of the bound or less. */
export function createRbacAuthorizer(
  watches: Record<RbacKind, RbacWatch>,
  maxStalenessMs = RBAC_MAX_STALENESS_MS,
): RbacAuthorizer {
  const all = Object.values(watches);
  const stores = Object.fromEntries(Object.entries(watches).map(([kind, { store }]) => [kind, store])) as Record<
    RbacKind,
    Store
  >;
  const index = createWatchedRbacIndex(stores);
  const requireFresh = (namespace = ""): void => {
    const oldest = performance.now() - maxStalenessMs;
    for (const { store, freshAsOf } of all) {
      // A store that cannot see throws the right error from any read.
      if (!store.synced) store.find({ name: "-" });
      // What was granted there before we lost sight of it counts for nothing.
      if (namespace && store.ref.namespaced && !store.syncStatusOf(namespace).synced)
        store.find({ namespace, name: "-" });
      if (freshAsOf() < oldest) throw new NotSynced(resourceId(store.ref));
    }
  };
  return {
    allows(user, attributes) {
      requireFresh(attributes.namespace);
      return index.allows(user, toResourceAttributes(attributes));
    },
    allowedNames(user, attributes) {
      requireFresh(attributes.namespace);
      return index.allowedNames(user, toResourceAttributes(attributes));
    },
    namespacesOf(user) {
      requireFresh();
      return index.namespacesOf(user);
    },
    version: () => index.version(),
  };
}

function toResourceAttributes(attributes: AccessAttributes): ResourceAttributes {
  const { verb, on, subresource = "", namespace = "", name = "" } = attributes;
  return { verb, group: on.group, resource: on.plural, subresource, namespace: on.namespaced ? namespace : "", name };
}
