// Roles as CF shows them.
import { expect, test } from "vitest";
import { CF_ROLES, toSubject, type CFRole } from "../../crds/roles.ts";
import { anOrg, aSpace } from "../../crds/testing/objects.ts";
import { cacheOf } from "../cache/testing/cache-of.ts";
import { rolesOf, type RoleAssignment } from "../../crds/role-assignments.ts";
import { presentRole } from "./present.ts";

function aRole(type: CFRole, user = "ann"): RoleAssignment {
  const [role] = rolesOf({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "b", namespace: "acme-dev", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: CF_ROLES[type].clusterRole },
    subjects: [toSubject(user)],
  });
  return role ?? expect.fail("no role");
}
const present = (role: RoleAssignment): object => presentRole(cacheOf(anOrg(), aSpace()), role, "https://api");

test.each<[CFRole, { space: string | null; organization: string | null }]>([
  ["space_developer", { space: "uid-dev", organization: null }],
  ["organization_manager", { space: null, organization: "uid-acme" }],
])("%s belongs to its space or org alone", (type, { space, organization }) => {
  const toData = (guid: string | null): object => ({ data: guid && { guid } });
  const presented = present(aRole(type));
  expect(presented).toMatchObject({
    type,
    relationships: { space: toData(space), organization: toData(organization) },
  });
  expect(Object.keys((presented as { links: object }).links)).toEqual([
    "self",
    "user",
    space ? "space" : "organization",
  ]);
});

test.each([
  ["ann", "ann"],
  ["ann@example.com", "ann%40example.com"],
  ["a/b?c", "a%2Fb%3Fc"],
  ["system:serviceaccount:ci:robot", "system%3Aserviceaccount%3Aci%3Arobot"],
])("the user %s has a link that leads to them", (user, segment) => {
  expect(present(aRole("space_developer", user))).toMatchObject({
    relationships: { user: { data: { guid: user } } },
    links: { user: { href: `https://api/v3/users/${segment}` } },
  });
});
