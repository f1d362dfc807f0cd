// The CF roles and their ClusterRoles. A CF role is a pair of a RoleBinding and a subject, with one of these ClusterRoles as roleRef.
import { deriveGUID } from "./guid.ts";
import { digest5, slug } from "./object-names.ts";

/** Scope of a role: its RoleBinding is in an org's or in a space's namespace. */
export type RoleScope = "org" | "space";

export interface RoleInfo {
  clusterRole: string;
  scope: RoleScope;
  /** The name in errors and in `cf org-users`. */
  title: string;
}

/** By role type of `/v3/roles`. */
export const CF_ROLES = {
  organization_manager: { clusterRole: "cupola-org-manager", scope: "org", title: "organization_manager" },
  organization_auditor: { clusterRole: "cupola-org-auditor", scope: "org", title: "organization_auditor" },
  organization_billing_manager: {
    clusterRole: "cupola-org-billing-manager",
    scope: "org",
    title: "organization_billing_manager",
  },
  organization_user: { clusterRole: "cupola-org-user", scope: "org", title: "organization_user" },
  space_developer: { clusterRole: "cupola-space-developer", scope: "space", title: "space_developer" },
  space_manager: { clusterRole: "cupola-space-manager", scope: "space", title: "space_manager" },
  space_auditor: { clusterRole: "cupola-space-auditor", scope: "space", title: "space_auditor" },
  space_supporter: { clusterRole: "cupola-space-supporter", scope: "space", title: "space_supporter" },
} as const satisfies Record<string, RoleInfo>;
export type CFRole = keyof typeof CF_ROLES;

/** Every permission on our kinds. Granted by a ClusterRoleBinding, so `/v3/roles` does not list it. */
export const ADMIN_CLUSTER_ROLE = "cupola-admin";
/** Reads everything, including secrets. Granted like `ADMIN_CLUSTER_ROLE`. */
export const ADMIN_READ_ONLY_CLUSTER_ROLE = "cupola-admin-read-only";
/** Reads everything except secrets and environments. Granted like `ADMIN_CLUSTER_ROLE`. */
export const GLOBAL_AUDITOR_CLUSTER_ROLE = "cupola-global-auditor";
/** Role of an org's managers in each of its spaces. Bound by controllers, never by users. */
export const ORG_MANAGER_IN_SPACE = "cupola-space-org-manager";
/** Role of an org's auditors in each of its spaces. Bound by controllers, never by users. */
export const ORG_AUDITOR_IN_SPACE = "cupola-space-org-auditor";
/** May create orgs. Bound to every authenticated user while the feature flag user_org_creation is on. */
export const ORG_CREATOR = "cupola-org-creator";
/** Lets every authenticated user read stacks, buildpacks, quotas and shared domains. Bound in the system namespace. */
export const SYSTEM_READER = "cupola-system-reader";
/** Lets every authenticated user read backend classes, cluster-wide. */
export const CLUSTER_READER = "cupola-cluster-reader";
/** Writes PolicyTemplates, and reads constraints. */
export const POLICY_AUTHOR = "cupola-policy-author";
/** Writes constraints, and reads PolicyTemplates. */
export const POLICY_ADMIN = "cupola-policy-admin";
/** Sees what is generated for apps in a space: pods, their logs, workloads. An operator binds it; no CF role has it. */
export const SPACE_OBSERVE = "cupola-space-observe";
/** Adjusts the pods of apps in a space, within what the operator allows. An operator binds it; no CF role has it. */
export const SPACE_TWEAK = "cupola-space-tweak";
/** Takes workloads of a space over, and manages Deployments, Services and autoscalers there. An operator binds it; no CF role has it. */
export const SPACE_NATIVE = "cupola-space-native";
/** Imports a backup. Granted like `ADMIN_CLUSTER_ROLE`, for the time of the import. */
export const RESTORER_CLUSTER_ROLE = "cupola-restorer";
/** Lets every authenticated user read PolicyTemplates and constraints, cluster-wide: people may know the rules that refuse their writes. */
export const POLICY_READER = "cupola-policy-reader";

export const SPACE_DEVELOPER = CF_ROLES.space_developer.clusterRole;
export const SPACE_MANAGER = CF_ROLES.space_manager.clusterRole;
export const SPACE_AUDITOR = CF_ROLES.space_auditor.clusterRole;
export const SPACE_SUPPORTER = CF_ROLES.space_supporter.clusterRole;
export const ORG_MANAGER = CF_ROLES.organization_manager.clusterRole;
export const ORG_AUDITOR = CF_ROLES.organization_auditor.clusterRole;
/** May read the objects of a space. */
export const SPACE_READERS: readonly string[] = [
  SPACE_DEVELOPER,
  SPACE_MANAGER,
  SPACE_AUDITOR,
  SPACE_SUPPORTER,
  ORG_MANAGER_IN_SPACE,
  GLOBAL_AUDITOR_CLUSTER_ROLE,
];
/** CF's "manage apps": operate existing apps without changing their content. */
export const APP_OPERATORS: readonly string[] = [SPACE_DEVELOPER, SPACE_SUPPORTER];

const ROLE_BY_CLUSTER_ROLE = new Map<string, CFRole>(
  (Object.keys(CF_ROLES) as CFRole[]).map((role) => [CF_ROLES[role].clusterRole, role]),
);

/** The CF role of a ClusterRole; undefined for any other ClusterRole. */
export function findCFRole(clusterRole: string): CFRole | undefined {
  return ROLE_BY_CLUSTER_ROLE.get(clusterRole);
}

/** The ClusterRoles of the CF roles of this scope. */
export function listClusterRoleNames(scope: RoleScope): string[] {
  return Object.values(CF_ROLES)
    .filter((role) => role.scope === scope)
    .map((role) => role.clusterRole);
}

/** The GUID of a role: one per binding and subject. */
export function roleGUID(bindingUid: string, subject: { kind: string; namespace?: string; name: string }): string {
  return deriveGUID("role", bindingUid, subject.kind, subject.namespace ?? "", subject.name);
}

/** The RBAC subject of a Kubernetes user name. */
export function toSubject(user: string): { kind: string; apiGroup?: string; namespace?: string; name: string } {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
  return namespace && name
    ? { kind: "ServiceAccount", namespace, name }
    : { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user };
}

/** The name of the RoleBinding that grants a role to a user. */
export function roleBindingName(type: CFRole, user: string): string {
  return `${type.replaceAll("_", "-")}-${slug(user).slice(0, 40).replace(/-+$/, "") || "user"}-${digest5(user)}`;
}

/** The Kubernetes user name of a RoleBinding's subject; undefined for groups. A service account without a namespace is in the binding's namespace. */
export function findUserName(
  subject: { kind: string; namespace?: string; name: string },
  bindingNamespace: string,
): string | undefined {
  if (subject.kind === "User") return subject.name;
  return subject.kind === "ServiceAccount"
    ? `system:serviceaccount:${subject.namespace || bindingNamespace}:${subject.name}`
    : undefined;
}
