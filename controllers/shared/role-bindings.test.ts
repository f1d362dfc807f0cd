// Bindings of very many subjects: each object is small enough to store, and a new subject changes only one.
import { expect, test } from "vitest";
import type { RoleBinding } from "../../kube/api/builtin.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import { planRoleGrant } from "./role-bindings.ts";

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
