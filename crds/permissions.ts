// Who may do what: the one table behind the ClusterRoles, the rights that endpoints declare, and the field policies (policies.ts).
import { ClusterRole } from "../kube/builtin.ts";
import type { KubeObject } from "../kube/object.ts";
import type { ResourceDefinition } from "../kube/resource.ts";
import { App } from "./app/app.ts";
import { BackendClass } from "./backend-class/backend-class.ts";
import { Build } from "./build/build.ts";
import { Buildpack } from "./buildpack/buildpack.ts";
import { Domain } from "./domain/domain.ts";
import { Droplet } from "./droplet/droplet.ts";
import { GROUP, WORKLOADS_GROUP } from "./groups.ts";
import { LRP } from "./lrp/lrp.ts";
import { Org } from "./org/org.ts";
import { OrgQuota } from "./org-quota/org-quota.ts";
import { Package } from "./package/package.ts";
import { Process } from "./process/process.ts";
import { Revision } from "./revision/revision.ts";
import { ADMIN_CLUSTER_ROLE, CF_ROLES, CLUSTER_READER, ORG_MANAGER_IN_SPACE, SYSTEM_READER } from "./roles.ts";
import { RouteBinding } from "./route-binding/route-binding.ts";
import { Route } from "./route/route.ts";
import { Space } from "./space/space.ts";
import { Stack } from "./stack/stack.ts";
import { Staging } from "./staging/staging.ts";

const READ = ["get", "list", "watch"] as const;
const WRITE = ["create", "update", "patch", "delete"] as const;

const developer = CF_ROLES.space_developer.clusterRole;
const manager = CF_ROLES.space_manager.clusterRole;
const auditor = CF_ROLES.space_auditor.clusterRole;
const orgManager = CF_ROLES.organization_manager.clusterRole;
const orgUser = CF_ROLES.organization_user.clusterRole;
const everyoneInSpace = [developer, manager, auditor, ORG_MANAGER_IN_SPACE];

/** One line of the table: these ClusterRoles may do these verbs on this resource, or on a (virtual) subresource of it. */
export interface PermissionRow {
  on: readonly ResourceDefinition[];
  subresource?: string;
  verbs: readonly string[];
  roles: readonly string[];
}

/** Org and Space objects themselves are granted by name (resourceNames), by the bindings that controllers keep; see controllers/org and controllers/space. */
export const PERMISSIONS: readonly PermissionRow[] = [
  { on: [App, Process, Package, Build, Droplet, Revision, Route], verbs: READ, roles: everyoneInSpace },
  { on: [LRP, RouteBinding, Staging], verbs: READ, roles: everyoneInSpace },
  { on: [App, Process, Package, Build, Droplet, Route], verbs: WRITE, roles: [developer] },
  { on: [App], subresource: "env", verbs: ["get", "update"], roles: [developer] },
  { on: [App], subresource: "state", verbs: ["update"], roles: [developer] },
  { on: [App], subresource: "content", verbs: ["update"], roles: [developer] },
  { on: [App], subresource: "logs", verbs: ["get"], roles: everyoneInSpace },
  { on: [Process], subresource: "scale", verbs: ["get", "update", "patch"], roles: [developer] },
  { on: [Package, Droplet], subresource: "content", verbs: ["get", "update"], roles: [developer] },
  { on: [Droplet], subresource: "content", verbs: ["get"], roles: [manager, auditor, ORG_MANAGER_IN_SPACE] },
  { on: [Space], verbs: [...READ, ...WRITE], roles: [orgManager] },
  { on: [Domain], verbs: [...READ, ...WRITE], roles: [orgManager] },
  { on: [Domain], verbs: READ, roles: [orgUser] },
  { on: [Domain, Buildpack, Stack, OrgQuota], verbs: READ, roles: [SYSTEM_READER] },
  { on: [BackendClass], verbs: READ, roles: [CLUSTER_READER] },
];

/** Fields that need a right of their own besides update on the object; the policy compares old and new. */
export const FIELD_RIGHTS: readonly { on: ResourceDefinition; subresource: string; fields: readonly string[] }[] = [
  { on: App, subresource: "env", fields: ["env"] },
  { on: App, subresource: "state", fields: ["state", "restart"] },
  { on: App, subresource: "content", fields: ["droplet", "lifecycle", "builder"] },
  { on: Package, subresource: "content", fields: ["content"] },
  // An org's manager may rename it, but neither lift its suspension nor choose its quota.
  { on: Org, subresource: "limits", fields: ["suspended", "quotaRef"] },
];

/** Which roles each role may give and take: through RBAC's `bind`, with the giver's own identity. */
const GRANTS: readonly { role: string; mayBind: readonly string[] }[] = [
  { role: orgManager, mayBind: [orgManager, orgUser] },
  { role: manager, mayBind: [developer, manager, auditor] },
  { role: ORG_MANAGER_IN_SPACE, mayBind: [developer, manager, auditor] },
];

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

function ruleOf(row: PermissionRow): Rule[] {
  const groups = [...new Set(row.on.map((definition) => definition.group))];
  return groups.map((group) => ({
    apiGroups: [group],
    resources: row.on.filter((definition) => definition.group === group).map((definition) => (row.subresource ? `${definition.plural}/${row.subresource}` : definition.plural)),
    verbs: [...row.verbs],
  }));
}

function grantRules(role: string): Rule[] {
  const grant = GRANTS.find((row) => row.role === role);
  if (!grant) return [];
  const rbac = ["rbac.authorization.k8s.io"];
  return [
    { apiGroups: rbac, resources: ["rolebindings"], verbs: [...READ, ...WRITE] },
    { apiGroups: rbac, resources: ["clusterroles"], verbs: ["bind"], resourceNames: [...grant.mayBind] },
  ];
}

function toClusterRole(name: string, rules: Rule[]): KubeObject {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: ClusterRole.kind, metadata: { name }, rules };
}

/** The ClusterRoles of the table, and the admin's. */
export function clusterRoles(): KubeObject[] {
  const names = [...new Set(PERMISSIONS.flatMap((row) => row.roles))];
  const admin = toClusterRole(ADMIN_CLUSTER_ROLE, [
    { apiGroups: [GROUP, WORKLOADS_GROUP], resources: ["*"], verbs: ["*"] },
    { apiGroups: ["rbac.authorization.k8s.io"], resources: ["rolebindings"], verbs: [...READ, ...WRITE] },
    { apiGroups: ["rbac.authorization.k8s.io"], resources: ["clusterroles"], verbs: ["bind"], resourceNames: Object.values(CF_ROLES).map((role) => role.clusterRole) },
  ]);
  return [admin, ...names.map((name) => toClusterRole(name, [...PERMISSIONS.filter((row) => row.roles.includes(name)).flatMap(ruleOf), ...grantRules(name)]))];
}
