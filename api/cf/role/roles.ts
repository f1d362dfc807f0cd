// CF roles that a caller sees, each with its org or space. role-assignments.ts reads the roles of a binding.
import { Org } from "../../../crds/org/org.ts";
import { CF_ROLES } from "../../../crds/roles.ts";
import { Space } from "../../../crds/space/space.ts";
import { RoleBinding } from "../../../kube/api/builtin.ts";
import type { Session } from "../../access/session.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { rolesOf, type RoleAssignment } from "../../../crds/role-assignments.ts";

/** The org or space of a role. */
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
    // Keyed by scope as well: a space role bound in an org's namespace has no effect and must not hide another role.
    const scope = `${role.binding.metadata.namespace} ${CF_ROLES[role.type].scope}`;
    if (!visibleScopes.has(scope)) visibleScopes.set(scope, isVisible(session, role));
    return visibleScopes.get(scope) === true;
  });
}

function isVisible(session: Session, role: RoleAssignment): boolean {
  const { org, space } = scopeOf(session.cache, role);
  return space ? session.canSee(Space, space) : org !== undefined && session.canSee(Org, org);
}

/** The role with that GUID, if the caller sees its org or space. */
export function findRole(session: Session, guid: string): RoleAssignment | undefined {
  const roles = session.cache.store(RoleBinding).byIndex("guid", guid).flatMap(rolesOf);
  return roles.find((role) => role.guid === guid && isVisible(session, role));
}
