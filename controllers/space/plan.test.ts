// Rights by name in a space, and consent to adoption.
import { describe, expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { CF_ROLES, ORG_MANAGER_IN_SPACE, type CFRole } from "../../crds/roles.ts";
import { anOrg, aSpace } from "../fixtures.ts";
import type { NamespaceObject } from "../namespaces.ts";
import { checkConsent, planSpaceNamespace, planSpaceRights, type SpaceBindings } from "./plan.ts";

type Binding = SpaceBindings["org"][number];
const binding = (role: CFRole, user: string, labels: Record<string, string> = {}): Binding =>
  ({ metadata: { name: `${role}-${user}`, labels }, roleRef: { kind: "ClusterRole", name: CF_ROLES[role].clusterRole }, subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }] }) as unknown as Binding;

interface Rights {
  kind: string;
  metadata: { namespace?: string };
  roleRef?: { name: string };
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
  const bindings = { org: [binding("organization_manager", "bob")], space: [binding("space_developer", "alice"), binding("space_manager", "carol"), binding("space_auditor", "ghost", { [LABELS.managedBy]: "space" })] };

  test("of a space: everyone inside reads it, managers change it, the org's managers see into it", () => {
    expect(summary(planSpaceRights(aSpace(), "acme-dev", bindings))).toEqual([
      "Role acme get,list,watch spaces/dev",
      "RoleBinding acme alice,carol",
      "Role acme update,patch spaces/dev",
      "RoleBinding acme carol",
      "RoleBinding acme-dev bob",
    ]);
    expect((planSpaceRights(aSpace(), "acme-dev", bindings).at(-1) as unknown as Rights).roleRef?.name).toBe(ORG_MANAGER_IN_SPACE);
  });
});

test("the namespace carries GUIDs as labels, and is not suspended when the org is not", () => {
  expect(planSpaceNamespace(aSpace(), anOrg(), "s").labels).toEqual({ [LABELS.namespaceKind]: "space", [LABELS.space]: "s", [LABELS.org]: "uid-acme", [LABELS.suspended]: undefined });
});

describe("adoption", () => {
  const namespace = (name: string, labels: Record<string, string>): NamespaceObject => ({ metadata: { name, labels } }) as unknown as NamespaceObject;
  test.each([
    ["the org", { [LABELS.adoptableBy]: "acme" }],
    ["this space", { [LABELS.adoptableBy]: "acme.dev" }],
    ["anyone", { [LABELS.adoptableBy]: "any" }],
    ["what is this space's already", { [LABELS.ownerUid]: "uid-dev" }],
  ])("is allowed with consent to %s", (_what, labels) => expect(() => checkConsent(aSpace(), anOrg(), namespace("n", labels))).not.toThrow());
  test.each<[string, string, Record<string, string>, string]>([
    ["without consent", "n", {}, "NotConsented"],
    ["with consent to another org", "n", { [LABELS.adoptableBy]: "other" }, "NotConsented"],
    ["of somebody else's", "n", { [LABELS.ownerUid]: "x", [LABELS.adoptableBy]: "acme" }, "NamespaceTaken"],
    ["of a reserved one", "kube-system", { [LABELS.adoptableBy]: "acme" }, "NamespaceReserved"],
  ])("is refused %s", (_what, name, labels, reason) => expect(() => checkConsent(aSpace(), anOrg(), namespace(name, labels))).toThrow(expect.objectContaining({ reason })));
});
