// Bindings of very many subjects: each object is small enough to store, and a new subject changes only one.
import { describe, expect, test } from "vitest";
import type { RoleBinding } from "../../kube/api/builtin.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import { planOperationBindings, planRoleGrant, type RoleBindingObject } from "./role-bindings.ts";

type Subject = NonNullable<ObjectOf<typeof RoleBinding>["subjects"]>[number];

const users = (count: number): Subject[] =>
  Array.from({ length: count }, (_, at) => ({
    kind: "User",
    apiGroup: "rbac.authorization.k8s.io",
    name: `user-${at}`,
  }));
const grantOf = (subjects: Subject[]): Draft[] =>
  planRoleGrant({
    name: "cupola-org-acme-read",
    unique: "read/uid",
    rules: [{ apiGroups: ["x"], resources: ["orgs"], verbs: ["get"] }],
    subjects,
  });
const bindingsOf = (subjects: Subject[]): Map<string, Subject[]> =>
  new Map(
    grantOf(subjects)
      .slice(1)
      .map((one) => [one.metadata.name ?? "", one["subjects"] as Subject[]]),
  );

test.each([
  [0, 0],
  [1, 1],
  [1000, 1],
  [1001, 2],
  [30_000, 32],
])("%i subjects are in %i bindings to one role, each in one", (count, bindings) => {
  const found = bindingsOf(users(count));
  expect(found.size).toBe(bindings);
  expect(
    [...found.values()]
      .flat()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(
    users(count)
      .map(({ name }) => name)
      .sort(),
  );
  expect(Math.max(0, ...[...found.values()].map((some) => some.length))).toBeLessThan(1200);
  expect(
    new Set(
      grantOf(users(count)).map((one) => (one["roleRef"] as { name?: string } | undefined)?.name ?? one.metadata.name),
    ).size,
  ).toBe(Math.min(1, count));
});

test("one more changes one binding", () => {
  const [before, after] = [bindingsOf(users(5000)), bindingsOf(users(5001))];
  expect([...after].filter(([name, some]) => before.get(name)?.length !== some.length)).toHaveLength(1);
});

describe("the platform's own roles in a space", () => {
  const account = (name: string, namespace?: string): Subject => ({
    kind: "ServiceAccount",
    name,
    ...(namespace && { namespace }),
  });
  const bindingOf = (
    subjects: Subject[],
    { role = "cupola-api-secrets", namespace = "cupola-system" }: { role?: string; namespace?: string } = {},
  ): RoleBindingObject => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "b", namespace, labels: { "cupola.dev/space-role": role } },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
    subjects,
  });
  const plan = (...bindings: RoleBindingObject[]): [unknown, unknown][] =>
    planOperationBindings("acme-dev", bindings).map((draft) => [
      (draft["roleRef"] as { name: string }).name,
      (draft["subjects"] as Subject[]).map(({ namespace, name }) => `${namespace}/${name}`),
    ]);

  test("go to whoever runs the operation, by the bindings in the system namespace", () => {
    expect(
      plan(
        bindingOf([account("cupola-api", "cupola-system")]),
        bindingOf([account("all-in-one")]),
        bindingOf([account("all-in-one")], { role: "cupola-controllers-secrets" }),
      ),
    ).toEqual([
      ["cupola-api-secrets", ["cupola-system/all-in-one", "cupola-system/cupola-api"]],
      ["cupola-controllers-secrets", ["cupola-system/all-in-one"]],
    ]);
  });

  test("follow no label elsewhere, and no other role", () => {
    const subjects = [account("thief", "acme-dev")];
    expect(
      plan(bindingOf(subjects, { namespace: "acme-dev" }), bindingOf(subjects, { role: "cluster-admin" })),
    ).toEqual([]);
  });
});
