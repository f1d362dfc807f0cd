// The rights of an import: on the kinds that exports have, and on no others of ours.
import { expect, test } from "vitest";
import { DEFINITIONS } from "./definitions.ts";
import { LEFT_OUT_KINDS } from "./exported-kinds.ts";
import { GROUP } from "./groups.ts";
import { restorerRole } from "./restorer-role.ts";

const { rules } = restorerRole() as unknown as {
  rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
};

function verbsOn(group: string, resource: string): string[] {
  return rules
    .filter(
      ({ apiGroups, resources }) =>
        apiGroups.includes(group) && resources.some((one) => one === resource || one === "*"),
    )
    .flatMap(({ verbs }) => verbs);
}

test("an import writes exported kinds and their status, and makes claims", () => {
  expect(verbsOn(GROUP, "apps")).toEqual(["get", "create", "update", "patch"]);
  expect(verbsOn(GROUP, "apps/status")).toEqual(["patch"]);
  expect(verbsOn(GROUP, "auditlogs")).toContain("create");
  expect(verbsOn(GROUP, "claims")).toEqual(["create"]);
});

test("it has no right on a kind that no export has, and none to delete or list", () => {
  const leftOut = DEFINITIONS.filter(({ kind }) => kind in LEFT_OUT_KINDS && !["Claim", "AuditLog"].includes(kind));
  expect(leftOut.map(({ kind }) => kind)).toContain("BackendClass");
  for (const { group, plural } of leftOut) expect([plural, verbsOn(group, plural)]).toEqual([plural, []]);
  for (const { verbs, resources } of rules) {
    expect(resources).not.toContain("*");
    for (const verb of ["delete", "deletecollection", "list", "watch", "*"]) expect(verbs).not.toContain(verb);
  }
});
