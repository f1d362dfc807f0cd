// RBAC objects and requests as the evaluator sees them, and the group that bypasses RBAC.

/** An entry of `rules[]` of a Role or ClusterRole. */
export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

/** An entry of `subjects[]` of a binding. */
export interface Subject {
  kind: string;
  name: string;
  namespace?: string;
  apiGroup?: string;
}

/** `roleRef` of a binding. */
export interface RoleRef {
  apiGroup?: string;
  kind: string;
  name: string;
}

/** The fields of a Role, ClusterRole, RoleBinding or ClusterRoleBinding that the evaluator reads. */
export interface RbacObject {
  kind?: string;
  metadata: { name: string; namespace?: string };
  rules?: PolicyRule[] | null;
  subjects?: Subject[] | null;
  roleRef?: RoleRef;
}

/** The four RBAC kinds. */
export type RbacKind = "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding";

/** kube-apiserver allows this group everything before it asks any authorizer. */
export const SUPERUSER_GROUP = "system:masters";

/** The requesting user. `groups` is complete, `system:authenticated` included; the evaluator adds none. */
export interface RbacUser {
  name: string;
  groups: readonly string[];
}

/**
 * A resource request. `namespace` is empty for cluster-scoped resources and for lists over all namespaces.
 * `name` is empty for create and for collections; for list, watch and deletecollection with the field selector
 * `metadata.name=x` the caller sets it to x, as kube-apiserver does.
 */
export interface ResourceAttributes {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

/** A request for a path that is no resource, such as `/version`. */
export interface NonResourceAttributes {
  verb: string;
  path: string;
}

export type AccessAttributes = ResourceAttributes | NonResourceAttributes;
