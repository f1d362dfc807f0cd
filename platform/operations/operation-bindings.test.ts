// An operation's Role without a RoleBinding, and a RoleBinding without its Role, are named; operations that are not installed are not.
import { expect, test } from "vitest";
import { planBindingGaps } from "./operation-bindings.ts";

const grants = (name: string, kind = "Role", subjects: unknown[] = [{}]): Parameters<typeof planBindingGaps>[1][0] => ({
  roleRef: { kind, name },
  subjects,
});

test.each<[string, string[], ReturnType<typeof grants>[], string[]]>([
  ["both", ["cupola-api"], [grants("cupola-api")], []],
  ["neither", [], [], []],
  ["no binding", ["cupola-api"], [], ["no RoleBinding gives anybody the Role cupola-api"]],
  [
    "a binding of nobody",
    ["cupola-api"],
    [grants("cupola-api", "Role", [])],
    ["no RoleBinding gives anybody the Role cupola-api"],
  ],
  [
    "a binding of a ClusterRole",
    ["cupola-api"],
    [grants("cupola-api", "ClusterRole")],
    ["no RoleBinding gives anybody the Role cupola-api"],
  ],
  ["no role", [], [grants("cupola-logs")], ["the Role cupola-logs is missing"]],
  ["roles of others", ["other"], [grants("another")], []],
])("%s", (_case, roles, bindings, gaps) => {
  expect(planBindingGaps(roles, bindings)).toEqual(gaps);
});
