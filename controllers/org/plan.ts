// Plans an Org: labels of its namespace, and permissions of its members by object name. Pure.
import { GROUP } from "../../crds/groups.ts";
import { ANNOTATIONS, LABELS, SUSPENDED } from "../../crds/labels.ts";
import type { Org } from "../../crds/org/org.ts";
import { roleBindingName, CF_ROLES, toSubject, type CFRole } from "../../crds/roles.ts";
import { toNamespaceLabels } from "../../crds/space/namespace-labels.ts";
import { RoleBinding } from "../../kube/api/builtin.ts";
import type { Draft } from "../../kube/client/client.ts";
import { listSubjects, planRoleGrant, type RoleBindingObject } from "../shared/role-bindings.ts";
import type { NamespaceMetadata } from "../shared/owned-namespace.ts";

const RBAC = RoleBinding.group;

/** A creator who is no admin becomes the org's manager, once, when the namespace is created; a role revoked later is not restored. */
export function planCreatorRoles(org: Org, namespace: string): Draft[] {
  const creator = org.metadata.annotations?.[ANNOTATIONS.createdBy];
  if (!creator || org.status?.namespace !== undefined) return [];
  return (["organization_user", "organization_manager"] as const).map((role) => ({
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata: { name: roleBindingName(role, creator), namespace },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: CF_ROLES[role].clusterRole },
    subjects: [toSubject(creator)],
  }));
}

export interface OrgBindings {
  /** RoleBindings in the org's namespace. */
  org: readonly RoleBindingObject[];
  /** RoleBindings in the namespaces of its spaces. */
  spaces: readonly RoleBindingObject[];
}

const DOMAIN_READERS: readonly CFRole[] = [
  "organization_manager",
  "organization_auditor",
  "space_developer",
  "space_manager",
  "space_auditor",
  "space_supporter",
];

/** `name` is the effective name. */
export function planOrgNamespace(org: Org, guid: string, name: string | undefined): NamespaceMetadata {
  return {
    labels: {
      ...toNamespaceLabels({ org: org.metadata }),
      [LABELS.namespaceKind]: "org",
      [LABELS.org]: guid,
      [LABELS.suspended]: org.spec.suspended ? SUSPENDED.org : undefined,
    },
    annotations: { [ANNOTATIONS.orgName]: name },
  };
}

/**
 * A RoleBinding cannot grant access to a cluster-scoped object, so a ClusterRole lets all members read this Org by its name, and its managers
 * update it. CF shows the org's private domains to all members except plain users and billing managers.
 */
export function planOrgPermissions(org: Org, namespace: string, bindings: OrgBindings): Draft[] {
  const { name, uid = "" } = org.metadata;
  const everyone = listSubjects([...bindings.org, ...bindings.spaces]);
  const orgs = { apiGroups: [GROUP], resources: ["orgs"], resourceNames: [name] };
  return [
    ...planRoleGrant({
      name: `cupola-org-${name}-read`,
      unique: `read/${uid}`,
      rules: [{ ...orgs, verbs: ["get", "list", "watch"] }],
      subjects: everyone,
    }),
    ...planRoleGrant({
      name: `cupola-org-${name}-manage`,
      unique: `manage/${uid}`,
      rules: [{ ...orgs, verbs: ["update", "patch"] }],
      subjects: listSubjects(bindings.org, ["organization_manager"]),
    }),
    ...planRoleGrant({
      name: "cupola-org-domains",
      unique: `domains/${uid}`,
      namespace,
      rules: [{ apiGroups: [GROUP], resources: ["domains"], verbs: ["get", "list", "watch"] }],
      subjects: listSubjects([...bindings.org, ...bindings.spaces], DOMAIN_READERS),
    }),
  ];
}
