// The CF roles and the ClusterRoles that mean them. A CF role is one (RoleBinding, subject) pair whose roleRef is one of these.
import { deriveGUID } from "./guid.ts";
import { digest5, slug } from "./object-names.ts";

/** Where a role is given: by a RoleBinding in an org's or in a space's namespace. */
export type RoleScope = "org" | "space";

export interface RoleInfo {
  clusterRole: string;
  scope: RoleScope;
  /** As errors and `cf org-users` print it. */
  title: string;
}

/** CF role type, as `/v3/roles` says it, to what it means here. */
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

/** Full power over our kinds. Given by a ClusterRoleBinding, so it is no entry of `/v3/roles`. */
export const ADMIN_CLUSTER_ROLE = "cupola-admin";
/** Sees everything, secrets included. Given as `ADMIN_CLUSTER_ROLE` is. */
export const ADMIN_READ_ONLY_CLUSTER_ROLE = "cupola-admin-read-only";
/** Sees everything but secrets and environments. Given as `ADMIN_CLUSTER_ROLE` is. */
export const GLOBAL_AUDITOR_CLUSTER_ROLE = "cupola-global-auditor";
/** What an org's managers hold in each of its spaces. Bound by controllers, never by a person. */
export const ORG_MANAGER_IN_SPACE = "cupola-space-org-manager";
/** What an org's auditors hold in each of its spaces. Bound by controllers, never by a person. */
export const ORG_AUDITOR_IN_SPACE = "cupola-space-org-auditor";
/** May make orgs. Bound to every authenticated user while the feature flag user_org_creation is on. */
export const ORG_CREATOR = "cupola-org-creator";
/** What every authenticated user may read: stacks, buildpacks, quotas, shared domains. Bound in the system namespace. */
export const SYSTEM_READER = "cupola-system-reader";
/** What every authenticated user may read cluster-wide: backend classes. */
export const CLUSTER_READER = "cupola-cluster-reader";

const ROLE_BY_CLUSTER_ROLE = new Map<string, CFRole>(
  (Object.keys(CF_ROLES) as CFRole[]).map((role) => [CF_ROLES[role].clusterRole, role]),
);

/** The CF role that a ClusterRole means; undefined for any other ClusterRole. */
export function findCFRole(clusterRole: string): CFRole | undefined {
  return ROLE_BY_CLUSTER_ROLE.get(clusterRole);
}

/** The ClusterRoles that mean a CF role of this scope. */
export function listClusterRoleNames(scope: RoleScope): string[] {
  return Object.values(CF_ROLES)
    .filter((role) => role.scope === scope)
    .map((role) => role.clusterRole);
}

/** The GUID of a role: one per binding and subject. */
export function roleGUID(bindingUid: string, subject: { kind: string; namespace?: string; name: string }): string {
  return deriveGUID("role", bindingUid, subject.kind, subject.namespace ?? "", subject.name);
}

/** The subject that a Kubernetes user name is. */
export function toSubject(user: string): { kind: string; apiGroup?: string; namespace?: string; name: string } {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
  return namespace && name
    ? { kind: "ServiceAccount", namespace, name }
    : { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user };
}

/** The name of the RoleBinding that gives one role to one user. */
export function roleBindingName(type: CFRole, user: string): string {
  return `${type.replaceAll("_", "-")}-${slug(user).slice(0, 40).replace(/-+$/, "") || "user"}-${digest5(user)}`;
}

/** The Kubernetes user name of a RoleBinding's subject; undefined for groups. A service account without a namespace is one of the binding's. */
export function findUserName(
  subject: { kind: string; namespace?: string; name: string },
  bindingNamespace: string,
): string | undefined {
  if (subject.kind === "User") return subject.name;
  return subject.kind === "ServiceAccount"
    ? `system:serviceaccount:${subject.namespace || bindingNamespace}:${subject.name}`
    : undefined;
}
