// Authorizes by RBAC from an in-memory index that watches of the four RBAC kinds feed. A parked or stale watch makes it throw, never allow or deny.
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { AllowedNames } from "../../kube/rbac/rbac-index.ts";
import type { RbacKind, RbacUser, ResourceAttributes } from "../../kube/rbac/types.ts";
import { createWatchedRbacIndex } from "../../kube/rbac/watched-rbac-index.ts";
import type { Store } from "../../kube/cache/reader.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { InformerHandle } from "../../kube/cache/informers.ts";

/** An access to one object, or without `name` to all objects of a kind. */
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
  /** The names on which the user has the verb in one namespace ("" for cluster-scoped kinds). @throws NotSynced, NotPermitted */
  allowedNames(user: RbacUser, asked: AccessAttributes): AllowedNames;
  /** Namespaces in which a binding names the user or one of their groups. */
  namespacesOf(user: RbacUser): string[];
  /** Throws where any answer would: for whoever uses an earlier answer again. @throws NotSynced, NotPermitted */
  requireFresh(): void;
}

/**
 * The longest that an answer may lag behind the cluster's RBAC, milliseconds: the published bound (docs/security.md). Changes usually arrive by watch
 * within a few; reads through a watch that has been silent for longer get an error.
 */
export const RBAC_MAX_STALENESS_MS = 60_000;

/** A watch of an RBAC kind. */
export type RbacWatch = Pick<InformerHandle<KubeObject>, "store" | "freshAsOf">;

/** The refs whose stores feed the index. */
export const rbacKinds = { Role, ClusterRole, RoleBinding, ClusterRoleBinding } as const;

/** Indexes the four watches. They must be ensured with a `maxStalenessMs` of at most this bound. */
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
      // A store that is not synced throws the right error from any read.
      if (!store.synced) store.find({ name: "-" });
      // Bindings cached before the namespace's watch lost sync must not grant anything.
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
    requireFresh: () => requireFresh(),
  };
}

function toResourceAttributes(attributes: AccessAttributes): ResourceAttributes {
  const { verb, on, subresource = "", namespace = "", name = "" } = attributes;
  return { verb, group: on.group, resource: on.plural, subresource, namespace: on.namespaced ? namespace : "", name };
}
