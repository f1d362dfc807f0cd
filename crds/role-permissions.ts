// The permission table, from the definitions of the kinds. ClusterRoles, the permissions of endpoints, and field policies (field-policies.ts) are derived from it.
import {
  ClusterRole,
  Deployment,
  Event,
  Ingress,
  Pod,
  PodDisruptionBudget,
  Service,
  StatefulSet,
} from "../kube/api/builtin.ts";
import type { KubeObject } from "../kube/api/object.ts";
import type { ResourceDefinition } from "../kube/api/resource.ts";
import { DEFINITIONS } from "./definitions.ts";
import { CONSTRAINTS_GROUP, GROUP, WORKLOADS_GROUP } from "./groups.ts";
import { LRP } from "./lrp/lrp.ts";
import { READ, WRITE, type KindDefinition, type KindFieldPermission, type KindPermission } from "./kind.ts";
import {
  ADMIN_CLUSTER_ROLE,
  ADMIN_READ_ONLY_CLUSTER_ROLE,
  CF_ROLES,
  GLOBAL_AUDITOR_CLUSTER_ROLE,
  listClusterRoleNames,
  ORG_AUDITOR,
  ORG_MANAGER,
  ORG_MANAGER_IN_SPACE,
  POLICY_ADMIN,
  POLICY_AUTHOR,
  POLICY_READER,
  SPACE_MANAGER,
  SPACE_NATIVE,
  SPACE_OBSERVE,
  SPACE_READERS,
} from "./roles.ts";

/** A line of the table: these ClusterRoles have these verbs on these resources, or on a (virtual) subresource of them. */
export interface RolePermission extends KindPermission {
  on: readonly Pick<ResourceDefinition, "group" | "plural" | "kind">[];
}

/** People put one on a Deployment that they took over. */
const AUTOSCALER = { group: "autoscaling", plural: "horizontalpodautoscalers", kind: "HorizontalPodAutoscaler" };

const CONSTRAINTS = { group: CONSTRAINTS_GROUP, plural: "*", kind: "constraints" };

/**
 * Controllers grant Org and Space objects themselves by name (resourceNames); see controllers/org and controllers/space.
 * cupola-admin may do everything and cupola-admin-read-only may read everything, so neither has a line here.
 */
export const ROLE_PERMISSIONS: readonly RolePermission[] = [
  ...listKindPermissions(),
  // Constraints are kinds that PolicyTemplates make at run time.
  { on: [CONSTRAINTS], verbs: [...READ, ...WRITE], roles: [POLICY_ADMIN] },
  { on: [CONSTRAINTS], verbs: READ, roles: [POLICY_AUTHOR, POLICY_READER, GLOBAL_AUDITOR_CLUSTER_ROLE] },
  // kubectl get, describe and logs of what the platform generates.
  {
    on: [Pod, Service, Deployment, StatefulSet, PodDisruptionBudget, Ingress, Event],
    verbs: READ,
    roles: [SPACE_OBSERVE],
  },
  // Whoever takes a workload over manages it as any other of Kubernetes.
  {
    on: [Service, Deployment, StatefulSet, PodDisruptionBudget, Ingress, AUTOSCALER],
    verbs: [...READ, ...WRITE],
    roles: [SPACE_NATIVE],
  },
  { on: [Deployment, StatefulSet], subresource: "scale", verbs: ["get", "update", "patch"], roles: [SPACE_NATIVE] },
  // The record of a workload that nobody needs any more.
  { on: [LRP], verbs: ["delete"], roles: [SPACE_NATIVE] },
  { on: [Pod], subresource: "log", verbs: ["get"], roles: [SPACE_OBSERVE] },
  // kubectl describe shows an object's Events.
  { on: [Event], verbs: READ, roles: [...SPACE_READERS, ORG_MANAGER, ORG_AUDITOR] },
];

/** The permissions of all kinds; kinds that give the same roles the same verbs share a line. */
function listKindPermissions(): RolePermission[] {
  const rows = new Map<string, RolePermission & { on: KindDefinition[] }>();
  for (const definition of DEFINITIONS)
    for (const permission of definition.permissions ?? []) {
      const { subresource, verbs, roles } = permission;
      const id = JSON.stringify([subresource, verbs, roles]);
      const row = rows.get(id) ?? { ...permission, on: [] };
      row.on.push(definition);
      rows.set(id, row);
    }
  return [...rows.values()];
}

export interface FieldPermission extends KindFieldPermission {
  on: ResourceDefinition;
}

/** Fields that need a permission besides update on the object; the policy compares old and new. */
export const FIELD_PERMISSIONS: readonly FieldPermission[] = DEFINITIONS.flatMap((on) =>
  (on.fieldPermissions ?? []).map((permission) => ({ on, ...permission })),
);

/** The roles that each role may grant and revoke, through RBAC's `bind` and with the caller's own identity. */
const ROLE_GRANTS: readonly { role: string; mayBind: readonly string[] }[] = [
  { role: ORG_MANAGER, mayBind: listClusterRoleNames("org") },
  { role: SPACE_MANAGER, mayBind: listClusterRoleNames("space") },
  { role: ORG_MANAGER_IN_SPACE, mayBind: listClusterRoleNames("space") },
];

/** The virtual permission of managers: a caller who has it in a namespace may bind only CF's roles there. */
export const GRANT_PERMISSION = { group: GROUP, resource: "roles", verb: "grant" } as const;

interface ClusterRoleRule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

function toClusterRoleRules(row: RolePermission): ClusterRoleRule[] {
  const groups = [...new Set(row.on.map((definition) => definition.group))];
  return groups.map((group) => ({
    apiGroups: [group],
    resources: row.on
      .filter((definition) => definition.group === group)
      .map((definition) => (row.subresource ? `${definition.plural}/${row.subresource}` : definition.plural)),
    verbs: [...row.verbs],
  }));
}

function toGrantRules(role: string): ClusterRoleRule[] {
  const grant = ROLE_GRANTS.find((row) => row.role === role);
  if (!grant) return [];
  const rbac = ["rbac.authorization.k8s.io"];
  return [
    { apiGroups: rbac, resources: ["rolebindings"], verbs: [...READ, ...WRITE] },
    { apiGroups: rbac, resources: ["clusterroles"], verbs: ["bind"], resourceNames: [...grant.mayBind] },
    { apiGroups: [GRANT_PERMISSION.group], resources: [GRANT_PERMISSION.resource], verbs: [GRANT_PERMISSION.verb] },
  ];
}

function toClusterRole(name: string, rules: ClusterRoleRule[]): KubeObject {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: ClusterRole.kind, metadata: { name }, rules };
}

/** The ClusterRoles of the table, and those of admins and global auditors. */
export function listClusterRoles(): KubeObject[] {
  const rbac = ["rbac.authorization.k8s.io"];
  const bindAll = {
    apiGroups: rbac,
    resources: ["clusterroles"],
    verbs: ["bind"],
    resourceNames: Object.values(CF_ROLES).map((role) => role.clusterRole),
  };
  const readEvents = { apiGroups: [Event.group], resources: [Event.plural], verbs: [...READ] };
  const readRoles = { apiGroups: rbac, resources: ["rolebindings"], verbs: [...READ] };
  const ours = { apiGroups: [GROUP, WORKLOADS_GROUP, CONSTRAINTS_GROUP], resources: ["*"] };
  const own: [string, ClusterRoleRule[]][] = [
    [
      ADMIN_CLUSTER_ROLE,
      [{ ...ours, verbs: ["*"] }, { ...readRoles, verbs: [...READ, ...WRITE] }, readEvents, bindAll],
    ],
    [ADMIN_READ_ONLY_CLUSTER_ROLE, [{ ...ours, verbs: [...READ] }, readRoles, readEvents]],
    [GLOBAL_AUDITOR_CLUSTER_ROLE, [readRoles]],
  ];
  // A role without permissions still needs its ClusterRole: its holders are members of the org.
  const names = new Set([
    ...own.map(([name]) => name),
    ...ROLE_PERMISSIONS.flatMap((row) => row.roles),
    ...Object.values(CF_ROLES).map((role) => role.clusterRole),
  ]);
  const ofTable = (name: string): ClusterRoleRule[] => [
    ...ROLE_PERMISSIONS.filter((row) => row.roles.includes(name)).flatMap(toClusterRoleRules),
    ...toGrantRules(name),
  ];
  return [...names].map((name) =>
    toClusterRole(name, [...(own.find(([one]) => one === name)?.[1] ?? []), ...ofTable(name)]),
  );
}
