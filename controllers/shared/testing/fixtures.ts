// Permissions and tenancy for the tests of this folder.
import { CF_ROLES, type CFRole } from "../../../crds/roles.ts";
import type { RoleBinding } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import type { Tenancy } from "../tenancy.ts";

export const tenancy: Tenancy = {
  space: { guid: "space-guid", name: "dev" },
  org: { guid: "org-guid", name: "Acme Inc." },
  orgNamespace: "acme",
  orgObjectName: "acme",
};

/** A RoleBinding of a user to a CF role in a namespace. */
export function aBinding(
  role: CFRole,
  user: string,
  labels: Record<string, string> = {},
): ObjectOf<typeof RoleBinding> {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: `${role}-${user}`, labels },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: CF_ROLES[role].clusterRole },
    subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }],
  };
}

interface PlannedRbacObject {
  kind: string;
  metadata: { namespace?: string };
  rules?: { resources: string[]; verbs: string[]; resourceNames?: string[] }[];
  subjects?: { name: string }[];
}

/** Roles and bindings, a line each. */
export function presentPermissions(drafts: readonly unknown[]): string[] {
  return (drafts as PlannedRbacObject[]).map(({ kind, metadata, rules, subjects }) => {
    const what = rules
      ? rules
          .map(
            (rule) => `${rule.verbs.join(",")} ${rule.resources.join(",")}/${(rule.resourceNames ?? ["*"]).join(",")}`,
          )
          .join(";")
      : subjects?.map(({ name }) => name).join(",");
    return `${kind} ${metadata.namespace ?? "-"} ${what}`;
  });
}
