// The RBAC objects and questions as the evaluator sees them: types, and the one group that stands above RBAC.

/** One entry of `rules[]` of a Role or ClusterRole. */
export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

/** One entry of `subjects[]` of a binding. */
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

/** What the evaluator reads of a Role, ClusterRole, RoleBinding or ClusterRoleBinding. */
export interface RbacObject {
  kind?: string;
  metadata: { name: string; namespace?: string };
  rules?: PolicyRule[] | null;
  subjects?: Subject[] | null;
  roleRef?: RoleRef;
}

/** The four kinds that decide. */
export type RbacKind = "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding";

/** The group that kube-apiserver lets do anything before it asks any authorizer, whatever bindings say. */
export const SUPERUSER_GROUP = "system:masters";

/** Who asks. `groups` holds every group, `system:authenticated` included: the evaluator adds none. */
export interface RbacUser {
  name: string;
  groups: readonly string[];
}

/**
 * A question about a resource. `namespace` is empty for cluster-scoped resources and for a list over all namespaces.
 * `name` is empty for create and for collections; for list, watch and deletecollection with the field selector
 * `metadata.name=x` the asker sets it to x, as kube-apiserver does.
 */
export interface ResourceAttributes {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

/** A question about a path that is no resource, such as `/version`. */
export interface NonResourceAttributes {
  verb: string;
  path: string;
}

export type AccessAttributes = ResourceAttributes | NonResourceAttributes;
