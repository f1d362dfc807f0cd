// Readers of a SecurityGroup: everybody when it applies to all spaces, else the members of its spaces and the managers of their orgs. Pure.
import { GROUP, SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { SecurityGroup } from "../../crds/security-group/security-group.ts";
import type { Space } from "../../crds/space/space.ts";
import type { Draft } from "../../kube/client/client.ts";
import { listSubjects, planRoleGrant, type RoleBindingObject } from "../shared/role-bindings.ts";

/** Does the space name this group, for apps or for builds? */
export function isBoundTo({ spec: { securityGroups } }: Pick<Space, "spec">, group: string): boolean {
  return [...(securityGroups?.running ?? []), ...(securityGroups?.staging ?? [])].includes(group);
}

const EVERYBODY = { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "system:authenticated" };

export interface GroupBindings {
  /** RoleBindings in the namespaces of the spaces that name the group. */
  spaces: readonly RoleBindingObject[];
  /** RoleBindings in the namespaces of their orgs. */
  orgs: readonly RoleBindingObject[];
}

export function planGroupReaders(group: SecurityGroup, bindings: GroupBindings): Draft[] {
  const { name, uid = "" } = group.metadata;
  const { running, staging } = group.spec.globallyEnabled;
  const members = [...listSubjects(bindings.spaces), ...listSubjects(bindings.orgs, ["organization_manager"])];
  const unique = new Map(members.map((subject) => [JSON.stringify(subject), subject]));
  return planRoleGrant({
    name: `cupola-security-group-${name}-read`,
    unique: `read/${uid}`,
    namespace: SYSTEM_NAMESPACE,
    rules: [
      { apiGroups: [GROUP], resources: ["securitygroups"], resourceNames: [name], verbs: ["get", "list", "watch"] },
    ],
    subjects: running || staging ? [EVERYBODY] : [...unique.values()],
  });
}
