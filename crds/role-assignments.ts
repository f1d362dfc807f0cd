// CF roles of a RoleBinding: each is one (RoleBinding, subject) pair whose roleRef is one of our ClusterRoles. Pure.
import { LABELS } from "./labels.ts";
import { originalUidOf } from "./origin.ts";
import { findCFRole, findUserName, roleGUID, type CFRole } from "./roles.ts";
import type { RoleBinding } from "../kube/api/builtin.ts";
import type { KubeObject } from "../kube/api/object.ts";
import type { ObjectOf } from "../kube/api/resource-ref.ts";

export type Binding = ObjectOf<typeof RoleBinding>;
export type Subject = NonNullable<Binding["subjects"]>[number];

/** A role of one user in one org or space. */
export interface RoleAssignment {
  guid: string;
  type: CFRole;
  user: string;
  binding: Binding;
  subject: Subject;
}

/** The roles of a binding; none for bindings to other ClusterRoles and for the platform's own bindings. */
export function rolesOf(object: KubeObject): RoleAssignment[] {
  const binding = object as Binding;
  // A namespaced Role may share a name with one of our ClusterRoles.
  const type = binding.roleRef?.kind === "ClusterRole" ? findCFRole(binding.roleRef.name) : undefined;
  if (!type || binding.metadata.labels?.[LABELS.managedBy]) return [];
  return (binding.subjects ?? []).flatMap((subject) => {
    const user = findUserName(subject, binding.metadata.namespace ?? "");
    return user === undefined
      ? []
      : [{ guid: roleGUID(originalUidOf(binding), subject), type, user, binding, subject }];
  });
}

/** Key of the bindings index. */
export function roleGUIDs(object: KubeObject): string[] {
  return rolesOf(object).map((role) => role.guid);
}
