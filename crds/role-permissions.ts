// The permission table. ClusterRoles, the permissions of endpoints, and field policies (field-policies.ts) are derived from it.
import { ClusterRole, Event } from "../kube/api/builtin.ts";
import type { KubeObject } from "../kube/api/object.ts";
import type { ResourceDefinition } from "../kube/api/resource.ts";
import { App } from "./app/app.ts";
import { AuditLog } from "./audit-log/audit-log.ts";
import { BackendClass } from "./backend-class/backend-class.ts";
import { Build } from "./build/build.ts";
import { Buildpack } from "./buildpack/buildpack.ts";
import { Domain } from "./domain/domain.ts";
import { Droplet } from "./droplet/droplet.ts";
import { EnvironmentGroup } from "./environment-group/environment-group.ts";
import { FeatureFlag } from "./feature-flag/feature-flag.ts";
import { GROUP, WORKLOADS_GROUP } from "./groups.ts";
import { IsolationSegment } from "./isolation-segment/isolation-segment.ts";
import { LRP } from "./lrp/lrp.ts";
import { Org } from "./org/org.ts";
import { OrgQuota } from "./org-quota/org-quota.ts";
import { Package } from "./package/package.ts";
import { Process } from "./process/process.ts";
import { Revision } from "./revision/revision.ts";
import {
  ADMIN_CLUSTER_ROLE,
  ADMIN_READ_ONLY_CLUSTER_ROLE,
  CF_ROLES,
  CLUSTER_READER,
  listClusterRoleNames,
  GLOBAL_AUDITOR_CLUSTER_ROLE,
  ORG_AUDITOR_IN_SPACE,
  ORG_CREATOR,
  ORG_MANAGER_IN_SPACE,
  SYSTEM_READER,
} from "./roles.ts";
import { Rollout } from "./rollout/rollout.ts";
import { RouteBinding } from "./route-binding/route-binding.ts";
import { Route } from "./route/route.ts";
import { SecurityGroup } from "./security-group/security-group.ts";
import { ServiceBroker } from "./service-broker/service-broker.ts";
import { ServiceOffering } from "./service-offering/service-offering.ts";
import { ServicePlan } from "./service-plan/service-plan.ts";
import { ServiceBinding } from "./service-binding/service-binding.ts";
import { ServiceInstance } from "./service-instance/service-instance.ts";
import { Space } from "./space/space.ts";
import { SpaceQuota } from "./space-quota/space-quota.ts";
import { Stack } from "./stack/stack.ts";
import { Staging } from "./staging/staging.ts";
import { Task } from "./task/task.ts";
import { User } from "./user/user.ts";
import { TaskRun } from "./task-run/task-run.ts";
import { UsageLog } from "./usage-log/usage-log.ts";

const READ = ["get", "list", "watch"] as const;
const WRITE = ["create", "update", "patch", "delete"] as const;

const developer = CF_ROLES.space_developer.clusterRole;
const manager = CF_ROLES.space_manager.clusterRole;
const auditor = CF_ROLES.space_auditor.clusterRole;
const supporter = CF_ROLES.space_supporter.clusterRole;
const orgManager = CF_ROLES.organization_manager.clusterRole;
const orgAuditor = CF_ROLES.organization_auditor.clusterRole;
const globalAuditor = GLOBAL_AUDITOR_CLUSTER_ROLE;
const inSpace = [developer, manager, auditor, supporter, ORG_MANAGER_IN_SPACE];
/** Roles that may read the objects of a space. */
const readers = [...inSpace, globalAuditor];
/** CF's "manage apps": operate existing apps without changing their content. */
const appOperators = [developer, supporter];

/** A line of the table: these ClusterRoles have these verbs on these resources, or on a (virtual) subresource of them. */
export interface RolePermission {
  on: readonly Pick<ResourceDefinition, "group" | "plural" | "kind">[];
  subresource?: string;
  verbs: readonly string[];
  roles: readonly string[];
}

/**
 * Controllers grant Org and Space objects themselves by name (resourceNames); see controllers/org and controllers/space.
 * cupola-admin may do everything and cupola-admin-read-only may read everything, so neither has a line here.
 */
export const ROLE_PERMISSIONS: readonly RolePermission[] = [
  { on: [App, Process, Package, Build, Droplet, Revision, Rollout, Task], verbs: READ, roles: readers },
  { on: [ServiceInstance, ServiceBinding], verbs: READ, roles: readers },
  // Those of a space's own brokers. Of the others the CF API shows what a plan's visibility allows.
  { on: [ServiceBroker], verbs: READ, roles: [developer, supporter, globalAuditor] },
  { on: [ServiceOffering, ServicePlan], verbs: READ, roles: readers },
  { on: [ServiceBroker], verbs: WRITE, roles: [developer] },
  { on: [ServiceOffering, ServicePlan], verbs: ["patch"], roles: [developer] },
  { on: [Route], verbs: READ, roles: [...readers, ORG_AUDITOR_IN_SPACE] },
  { on: [LRP, TaskRun, RouteBinding, Staging], verbs: READ, roles: readers },
  {
    on: [AuditLog],
    verbs: READ,
    roles: [developer, auditor, supporter, orgAuditor, ORG_AUDITOR_IN_SPACE, globalAuditor],
  },
  { on: [UsageLog], verbs: READ, roles: [globalAuditor] },
  // kubectl describe shows an object's Events.
  { on: [Event], verbs: READ, roles: [...readers, orgManager, orgAuditor] },
  { on: [App, Process, Package, Build, Droplet, Rollout, Task], verbs: WRITE, roles: [developer] },
  { on: [ServiceInstance], verbs: WRITE, roles: [developer] },
  // A supporter binds and unbinds, but does not label bindings.
  { on: [ServiceBinding], verbs: WRITE, roles: appOperators },
  { on: [ServiceInstance, ServiceBinding], subresource: "credentials", verbs: ["get"], roles: [developer] },
  { on: [Route], verbs: WRITE, roles: appOperators },
  // Setting a droplet creates Processes for its process types.
  { on: [Process], verbs: ["create", "update", "patch"], roles: [supporter] },
  { on: [App], verbs: ["update", "patch"], roles: [supporter] },
  { on: [Build], verbs: ["create"], roles: [supporter] },
  { on: [Rollout], verbs: ["create", "update", "patch"], roles: [supporter] },
  // A supporter cancels tasks, but neither creates nor labels them.
  { on: [Task], verbs: ["update", "patch"], roles: [supporter] },
  { on: [Task], subresource: "cancel", verbs: ["update"], roles: appOperators },
  { on: [App], subresource: "env", verbs: ["get", "update"], roles: appOperators },
  { on: [App], subresource: "state", verbs: ["update"], roles: appOperators },
  { on: [App], subresource: "droplet", verbs: ["update"], roles: appOperators },
  { on: [App], subresource: "content", verbs: ["update"], roles: [developer] },
  { on: [App], subresource: "settings", verbs: ["update"], roles: [developer] },
  { on: [App, Revision], subresource: "secrets", verbs: ["get"], roles: [developer] },
  { on: [App], subresource: "logs", verbs: ["get"], roles: readers },
  { on: [Process], subresource: "scale", verbs: ["get", "update", "patch"], roles: appOperators },
  { on: [Process, Rollout, Task, ServiceBinding], subresource: "settings", verbs: ["update"], roles: [developer] },
  { on: [Revision], verbs: ["patch"], roles: [developer] },
  { on: [Package, Droplet], subresource: "content", verbs: ["get", "update"], roles: [developer] },
  {
    on: [Droplet],
    subresource: "content",
    verbs: ["get"],
    roles: [manager, auditor, ORG_MANAGER_IN_SPACE, globalAuditor],
  },
  { on: [Space], verbs: [...READ, ...WRITE], roles: [orgManager] },
  // In the org's namespace: suspend a space, choose its quota and its segment. In the space's: work in it while it is suspended.
  { on: [Space], subresource: "limits", verbs: ["update"], roles: [orgManager, ORG_MANAGER_IN_SPACE] },
  { on: [Domain, SpaceQuota], verbs: [...READ, ...WRITE], roles: [orgManager] },
  { on: [Domain], verbs: READ, roles: [orgAuditor] },
  // The feature flag user_org_creation binds this role to all users.
  { on: [Org], verbs: ["create"], roles: [ORG_CREATOR] },
  { on: [Org, Space, Domain], verbs: READ, roles: [globalAuditor] },
  {
    on: [Domain, Buildpack, Stack, OrgQuota, FeatureFlag, EnvironmentGroup, IsolationSegment],
    verbs: READ,
    roles: [SYSTEM_READER, globalAuditor],
  },
  // Members of orgs and spaces get single ones by name: controllers/space, controllers/security-group.
  { on: [SpaceQuota, SecurityGroup, User], verbs: READ, roles: [globalAuditor] },
  { on: [BackendClass], verbs: READ, roles: [CLUSTER_READER, globalAuditor] },
];

export interface FieldPermission {
  on: ResourceDefinition;
  /** Virtual subresource of the permission; its verb is update. */
  subresource: string;
  /** Fields of the spec. */
  fields: readonly string[];
  /** Set when labels and annotations need the permission, too. */
  metadata?: true;
  /** A CEL expression: whoever may update the object may change the fields where it is true. */
  unless?: string;
}

/** The broker that made the instance is of its own space, so its developers may forget the instance, as in CF. */
const IS_OF_OWN_BROKER =
  "oldObject != null && has(oldObject.status) && has(oldObject.status.provided) && has(oldObject.status.provided.brokerRef.namespace) && oldObject.status.provided.brokerRef.namespace == request.namespace";

/** Fields that need a permission besides update on the object; the policy compares old and new. A dot separates nested fields. */
export const FIELD_PERMISSIONS: readonly FieldPermission[] = [
  { on: App, subresource: "env", fields: ["env"] },
  { on: App, subresource: "state", fields: ["state", "restart"] },
  { on: App, subresource: "droplet", fields: ["droplet"] },
  { on: App, subresource: "content", fields: ["lifecycle", "builder", "sidecars"] },
  { on: App, subresource: "settings", fields: ["name", "features.ssh"], metadata: true },
  {
    on: Process,
    subresource: "scale",
    fields: ["instances", "memoryMB", "diskMB", "cpu", "logRateLimitBytesPerSecond"],
  },
  { on: Process, subresource: "settings", fields: ["runner", "ports"] },
  // Metadata of an existing one; a supporter may give a new one its labels, as in CF.
  { on: Rollout, subresource: "settings", fields: [], metadata: true },
  { on: Package, subresource: "content", fields: ["content", "files"] },
  { on: Task, subresource: "cancel", fields: ["cancelled"] },
  { on: Task, subresource: "settings", fields: [], metadata: true },
  { on: ServiceBinding, subresource: "settings", fields: [], metadata: true },
  // It gets the requests for all hosts that nobody has: an admin's, as in CF.
  { on: Route, subresource: "wildcard", fields: ["sharedWildcard"] },
  // A purged instance goes on at its broker and may cost, so purging is an admin's, as in CF.
  { on: ServiceInstance, subresource: "purge", fields: ["purge"], unless: IS_OF_OWN_BROKER },
  { on: Space, subresource: "limits", fields: ["suspended", "quotaRef", "isolationSegment"] },
  // An org manager may rename the org, but neither lift its suspension nor choose its quota or the segments that it may use.
  { on: Org, subresource: "limits", fields: ["suspended", "quotaRef", "isolationSegments"] },
];

/** The roles that each role may grant and revoke, through RBAC's `bind` and with the caller's own identity. */
const ROLE_GRANTS: readonly { role: string; mayBind: readonly string[] }[] = [
  { role: orgManager, mayBind: listClusterRoleNames("org") },
  { role: manager, mayBind: listClusterRoleNames("space") },
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
  const ours = { apiGroups: [GROUP, WORKLOADS_GROUP], resources: ["*"] };
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
