// What RBAC allows, answered from memory: an index fed by watches of the four RBAC kinds. Parked watches throw; they never allow or deny.
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "../kube/builtin.ts";
import type { AllowedNames } from "../kube/rbac/rbac-index.ts";
import type { RbacKind, RbacUser, ResourceQuestion } from "../kube/rbac/types.ts";
import { followRbac } from "../kube/rbac/watched-index.ts";
import type { Store } from "../kube/reader.ts";
import type { ResourceRef } from "../kube/resource-ref.ts";

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

/** The refs whose stores feed the index. */
export const rbacKinds = { Role, ClusterRole, RoleBinding, ClusterRoleBinding } as const;

/** Keeps an index up to date with the four stores for as long as they live. */
export function createAuthorization(stores: Record<RbacKind, Store>): Authorization {
  const index = followRbac(stores);
  const all = Object.values(stores);
  const see = (): void => {
    // A store that cannot see throws the right error from any read.
    for (const store of all) if (!store.synced) store.find({ name: "-" });
  };
  return {
    allows(user, asked) {
      see();
      return index.allows(user, question(asked));
    },
    allowedNames(user, asked) {
      see();
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
