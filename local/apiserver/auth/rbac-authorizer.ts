// The authorizer: RBAC over the objects in the store; system:masters may do anything.
import { createRbacIndex, type RbacIndex } from "../../../kube/rbac/rbac-index.ts";
import type { PolicyRule, AccessAttributes, RbacKind } from "../../../kube/rbac/types.ts";
import type { AttributesRecord, Authorize, ResourceReader, UserInfo } from "../types.ts";

export const rbacGroup = "rbac.authorization.k8s.io";

export const rbacResources: Record<string, RbacKind> = {
  roles: "Role",
  clusterroles: "ClusterRole",
  rolebindings: "RoleBinding",
  clusterrolebindings: "ClusterRoleBinding",
};

export interface RbacAuthorizer {
  index: RbacIndex;
  authorize: Authorize;
  /** Rules of the user in a namespace, for SelfSubjectRulesReview. */
  rulesFor(user: UserInfo, namespace: string): PolicyRule[];
  stop(): void;
}

/** An authorizer over the RBAC objects in the store; a change counts from its commit on. */
export function createRbacAuthorizer(reader: ResourceReader): RbacAuthorizer {
  const index = createRbacIndex();
  const stops = Object.entries(rbacResources).map(([resource, kind]) => {
    for (const object of reader.list(rbacGroup, resource)) index.set(kind, object);
    return reader.subscribe(rbacGroup, resource, (event) => {
      if (event.type === "DELETED") index.remove(kind, event.object.metadata);
      else index.set(kind, event.object);
    });
  });
  return {
    index,
    authorize: (attributes) => authorize(index, attributes),
    rulesFor: (user, namespace) => index.rulesFor(user, namespace),
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

function toQuestion({ path, verb, group, resource, subresource, namespace, name }: AttributesRecord): AccessAttributes {
  return path !== undefined ? { verb, path } : { verb, group, resource, subresource, namespace, name };
}

function authorize(index: RbacIndex, attributes: AttributesRecord): { allowed: boolean; reason: string } {
  return index.explain(attributes.user, toQuestion(attributes));
}
