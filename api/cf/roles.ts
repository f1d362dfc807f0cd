// CF roles as they lie in RBAC: one role is one (RoleBinding, subject) pair whose roleRef is one of our ClusterRoles.
import { Org } from "../../crds/org/org.ts";
import { LABELS } from "../../crds/labels.ts";
import { CF_ROLES, roleGUID, findCFRole, findUserName, type CFRole } from "../../crds/roles.ts";
import { Space } from "../../crds/space/space.ts";
import { RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

export type Binding = ObjectOf<typeof RoleBinding>;
export type Subject = NonNullable<Binding["subjects"]>[number];

/** One role of one user in one place. */
export interface RoleAssignment {
  guid: string;
  type: CFRole;
  user: string;
  binding: Binding;
  subject: Subject;
}

/** The roles that a binding gives; none when it is not one of ours, or the platform's own. */
export function rolesOf(object: KubeObject): RoleAssignment[] {
  const binding = object as Binding;
  // A Role of a namespace may bear any name.
  const type = binding.roleRef?.kind === "ClusterRole" ? findCFRole(binding.roleRef.name) : undefined;
  if (!type || binding.metadata.labels?.[LABELS.managedBy]) return [];
  return (binding.subjects ?? []).flatMap((subject) => {
    const user = findUserName(subject, binding.metadata.namespace ?? "");
    return user === undefined
      ? []
      : [{ guid: roleGUID(binding.metadata.uid ?? "", subject), type, user, binding, subject }];
  });
}

/** For the index of bindings. */
export function roleGUIDs(object: KubeObject): string[] {
  return rolesOf(object).map((role) => role.guid);
}

/** The org or the space that a role is in. */
export function scopeOf(cache: ClusterCache, role: RoleAssignment): { org?: Org; space?: Space } {
  const { namespace } = role.binding.metadata;
  const space = CF_ROLES[role.type].scope === "space" ? cache.spaceOf(namespace) : undefined;
  const org = CF_ROLES[role.type].scope === "org" ? cache.orgOf(namespace) : undefined;
  return { ...(space && { space }), ...(org && { org }) };
}

/** Every role in orgs and spaces that the caller sees, and the caller's own. */
export function listVisibleRoles(session: Session, namespaces?: readonly string[]): RoleAssignment[] {
  const store = session.cache.store(RoleBinding);
  const bindings = namespaces ? namespaces.flatMap((namespace) => store.list({ namespace })) : store.list();
  const visibleScopes = new Map<string, boolean>();
  return bindings.flatMap(rolesOf).filter((role) => {
    // Per scope as well: a space's role bound in an org's namespace is nowhere, and hides no other.
    const scope = `${role.binding.metadata.namespace} ${CF_ROLES[role.type].scope}`;
    if (!visibleScopes.has(scope)) visibleScopes.set(scope, isVisible(session, role));
    return visibleScopes.get(scope) === true;
  });
}

function isVisible(session: Session, role: RoleAssignment): boolean {
  const { org, space } = scopeOf(session.cache, role);
  return space ? session.canSee(Space, space) : org !== undefined && session.canSee(Org, org);
}

/** The role with that GUID, if the caller sees its place. */
export function findRole(session: Session, guid: string): RoleAssignment | undefined {
  const roles = session.cache.store(RoleBinding).byIndex("guid", guid).flatMap(rolesOf);
  return roles.find((role) => role.guid === guid && isVisible(session, role));
}
