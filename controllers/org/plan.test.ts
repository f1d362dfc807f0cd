// Rights by name in an org.
import { describe, expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { CF_ROLES, type CFRole } from "../../crds/roles.ts";
import { anOrg } from "../fixtures.ts";
import { planOrgNamespace, planOrgRights, type OrgBindings } from "./plan.ts";

type Binding = OrgBindings["org"][number];
const binding = (role: CFRole, user: string): Binding =>
  ({ metadata: { name: `${role}-${user}` }, roleRef: { kind: "ClusterRole", name: CF_ROLES[role].clusterRole }, subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }] }) as unknown as Binding;

interface Rights {
  kind: string;
  metadata: { namespace?: string };
  rules?: { resources: string[]; verbs: string[]; resourceNames?: string[] }[];
  subjects?: { name: string }[];
}

function summary(drafts: readonly unknown[]): string[] {
  return (drafts as Rights[]).map((draft) =>
    draft.rules
      ? `${draft.kind} ${draft.metadata.namespace ?? "-"} ${draft.rules.map((rule) => `${rule.verbs.join(",")} ${rule.resources.join(",")}/${(rule.resourceNames ?? ["*"]).join(",")}`).join(";")}`
      : `${draft.kind} ${draft.metadata.namespace ?? "-"} ${draft.subjects?.map((subject) => subject.name).join(",")}`,
  );
}

describe("rights by name", () => {
  const bindings = { org: [binding("organization_manager", "bob")], spaces: [binding("space_developer", "alice"), binding("space_manager", "carol")] };

  test("of an org: everyone inside it and its spaces reads it, its managers change it", () => {
    expect(summary(planOrgRights(anOrg(), "acme", bindings))).toEqual([
      "ClusterRole - get,list,watch orgs/acme",
      "ClusterRoleBinding - alice,bob,carol",
      "ClusterRole - update,patch orgs/acme",
      "ClusterRoleBinding - bob",
      "Role acme get,list,watch domains/*",
      "RoleBinding acme alice,bob,carol",
    ]);
  });

  test("nobody inside, nothing to grant", () => expect(planOrgRights(anOrg(), "acme", { org: [], spaces: [] })).toEqual([]));
});

test("the namespace carries the GUID as label, the name as annotation, and suspension for the policy", () => {
  expect(planOrgNamespace(anOrg({ name: "Acme Inc.", suspended: true }), "g")).toEqual({ labels: { [LABELS.namespaceKind]: "org", [LABELS.org]: "g", [LABELS.suspended]: "org" }, annotations: { "cupola.dev/org-name": "Acme Inc." } });
});
