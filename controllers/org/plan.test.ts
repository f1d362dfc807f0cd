// Permissions by object name in an org.
import { describe, expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { anOrg } from "../../crds/testing/objects.ts";
import { aBinding, presentPermissions } from "../shared/testing/fixtures.ts";
import { planOrgNamespace, planOrgPermissions } from "./plan.ts";

describe("rights by name", () => {
  const bindings = {
    org: [aBinding("organization_manager", "bob")],
    spaces: [aBinding("space_developer", "alice"), aBinding("space_manager", "carol")],
  };

  test("of an org: everyone inside it and its spaces reads it, its managers change it", () => {
    expect(presentPermissions(planOrgPermissions(anOrg(), "acme", bindings))).toEqual([
      "ClusterRole - get,list,watch orgs/acme",
      "ClusterRoleBinding - alice,bob,carol",
      "ClusterRole - update,patch orgs/acme",
      "ClusterRoleBinding - bob",
      "Role acme get,list,watch domains/*",
      "RoleBinding acme alice,bob,carol",
    ]);
  });

  test("an org without members grants nothing", () =>
    expect(planOrgPermissions(anOrg(), "acme", { org: [], spaces: [] })).toEqual([]));
});

test("the namespace carries the GUID as label, the name as annotation, and suspension for the policy", () => {
  const org = anOrg({ suspended: true });
  const labelled = { ...org, metadata: { ...org.metadata, labels: { tier: "gold" } } };
  expect(planOrgNamespace(labelled, "g", "Acme Inc.")).toEqual({
    labels: {
      [LABELS.namespaceKind]: "org",
      [LABELS.org]: "g",
      [LABELS.orgName]: "acme",
      "org.cupola.dev/tier": "gold",
      [LABELS.suspended]: "org",
    },
    annotations: { "cupola.dev/org-name": "Acme Inc." },
  });
});
