// What an Org leads to: labels of its namespace, and the rights by name of those inside. Pure.
import { GROUP } from "../../crds/groups.ts";
import { ANNOTATIONS, LABELS, SUSPENDED } from "../../crds/labels.ts";
import type { Org } from "../../crds/org/org.ts";
import { bindingName, CF_ROLES, subjectOfUser, type CFRole } from "../../crds/roles.ts";
import type { RoleBinding } from "../../kube/api/builtin.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import { membersOf, planGrant } from "../shared/role-bindings.ts";
import type { NamespaceMeta } from "../shared/owned-namespace.ts";

const RBAC = "rbac.authorization.k8s.io";
type Binding = ObjectOf<typeof RoleBinding>;

/** Whoever is not an admin and makes an org becomes its manager, once: with the namespace. What is taken away later stays away. */
export function planCreatorRoles(org: Org, namespace: string): Draft[] {
  const creator = org.metadata.annotations?.[ANNOTATIONS.createdBy];
  if (!creator || org.status?.namespace !== undefined) return [];
  return (["organization_user", "organization_manager"] as const).map((role) => ({
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata: { name: bindingName(role, creator), namespace },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: CF_ROLES[role].clusterRole },
    subjects: [subjectOfUser(creator)],
  }));
}

export interface OrgBindings {
  /** RoleBindings in the org's namespace. */
  org: readonly Binding[];
  /** RoleBindings in the namespaces of its spaces. */
  spaces: readonly Binding[];
}

const SEE_DOMAINS: readonly CFRole[] = ["organization_manager", "organization_auditor", "space_developer", "space_manager", "space_auditor", "space_supporter"];

/** `name` is the one in force. */
export function planOrgNamespace(org: Org, guid: string, name: string | undefined): NamespaceMeta {
  return {
    labels: { [LABELS.namespaceKind]: "org", [LABELS.org]: guid, [LABELS.suspended]: org.spec.suspended ? SUSPENDED.org : undefined },
    annotations: { [ANNOTATIONS.orgName]: name },
  };
}

/**
 * RBAC cannot grant one cluster-scoped object by RoleBinding, so everyone inside reads this Org by its name, and its managers
 * change it so. CF shows the org's private domains to all of them but its plain users and billing managers.
 */
export function planOrgRights(org: Org, namespace: string, bindings: OrgBindings): Draft[] {
  const { name, uid = "" } = org.metadata;
  const everyone = membersOf([...bindings.org, ...bindings.spaces]);
  const orgs = { apiGroups: [GROUP], resources: ["orgs"], resourceNames: [name] };
  return [
    ...planGrant({ name: `cupola-org-${name}-read`, unique: `read/${uid}`, rules: [{ ...orgs, verbs: ["get", "list", "watch"] }], subjects: everyone }),
    ...planGrant({
      name: `cupola-org-${name}-manage`,
      unique: `manage/${uid}`,
      rules: [{ ...orgs, verbs: ["update", "patch"] }],
      subjects: membersOf(bindings.org, ["organization_manager"]),
    }),
    ...planGrant({
      name: "cupola-org-domains",
      unique: `domains/${uid}`,
      namespace,
      rules: [{ apiGroups: [GROUP], resources: ["domains"], verbs: ["get", "list", "watch"] }],
      subjects: membersOf([...bindings.org, ...bindings.spaces], SEE_DOMAINS),
    }),
  ];
}
