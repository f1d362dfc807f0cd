// What RBAC allows, answered from memory: an index fed by watches of the four RBAC kinds. Parked and silent watches throw; they never allow or deny.
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { AllowedNames } from "../../kube/rbac/rbac-index.ts";
import type { RbacKind, RbacUser, ResourceQuestion } from "../../kube/rbac/types.ts";
import { followRbac } from "../../kube/rbac/watched-rbac-index.ts";
import { NotSynced, type Store } from "../../kube/cache/reader.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { WatchHandle } from "../../kube/cache/informers.ts";

/** The question about one object, or about any (no name) of a kind. */
export interface Asked {
  verb: string;
  on: ResourceRef;
  subresource?: string;
  namespace?: string;
  name?: string;
}

export interface Authorization {
  /** @throws NotSynced, NotPermitted */
  allows(user: RbacUser, asked: Asked): boolean;
  /** Names that the user may use the verb on in one namespace ("" for cluster-scoped kinds). @throws NotSynced, NotPermitted */
  allowedNames(user: RbacUser, asked: Asked): AllowedNames;
  /** Namespaces in which a binding names the user or a group of theirs. */
  namespacesOf(user: RbacUser): string[];
  /** Grows with every change of RBAC. */
  version(): number;
}

/**
 * How far behind the cluster's RBAC an answer here may be at most, milliseconds: the published bound (docs/security.md). Changes arrive by watch, usually
 * in a few; a watch that has not been heard of for so long is not believed, and its readers get an error.
 */
export const RBAC_BOUND_MS = 60_000;

/** One watch of an RBAC kind. */
export type RbacWatch = Pick<WatchHandle<KubeObject>, "store" | "heardAt">;

/** The refs whose stores feed the index. */
export const rbacKinds = { Role, ClusterRole, RoleBinding, ClusterRoleBinding } as const;

/** Keeps an index up to date with the four watches for as long as they live. They must be ensured with `hearWithinMs` of the bound or less. */
export function createAuthorization(watched: Record<RbacKind, RbacWatch>, boundMs = RBAC_BOUND_MS): Authorization {
  const all = Object.values(watched);
  const stores = Object.fromEntries(Object.entries(watched).map(([kind, { store }]) => [kind, store])) as Record<RbacKind, Store>;
  const index = followRbac(stores);
  const see = (namespace = ""): void => {
    const oldest = performance.now() - boundMs;
    for (const { store, heardAt } of all) {
      // A store that cannot see throws the right error from any read.
      if (!store.synced) store.find({ name: "-" });
      // What was granted there before we lost sight of it counts for nothing.
      if (namespace && store.ref.namespaced && !store.sightOf(namespace).synced) store.find({ namespace, name: "-" });
      if (heardAt() < oldest) throw new NotSynced(resourceId(store.ref));
    }
  };
  return {
    allows(user, asked) {
      see(asked.namespace);
      return index.allows(user, question(asked));
    },
    allowedNames(user, asked) {
      see(asked.namespace);
      return index.allowedNames(user, question(asked));
    },
    namespacesOf(user) {
      see();
      return index.namespacesOf(user);
    },
    version: () => index.version(),
  };
}

function question(asked: Asked): ResourceQuestion {
  const { verb, on, subresource = "", namespace = "", name = "" } = asked;
  return { verb, group: on.group, resource: on.plural, subresource, namespace: on.namespaced ? namespace : "", name };
}
