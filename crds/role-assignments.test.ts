// Users with a role, from the subjects of a RoleBinding.
import { expect, test } from "vitest";
import { CF_ROLES } from "./roles.ts";
import { rolesOf } from "./role-assignments.ts";

const roleRef = {
  apiGroup: "rbac.authorization.k8s.io",
  kind: "ClusterRole",
  name: CF_ROLES.space_developer.clusterRole,
};

test.each<[string, object, string[]]>([
  ["a user", { kind: "User", name: "ann" }, ["ann"]],
  ["a service account", { kind: "ServiceAccount", namespace: "ci", name: "robot" }, ["system:serviceaccount:ci:robot"]],
  [
    "a service account of the binding's own namespace",
    { kind: "ServiceAccount", name: "robot" },
    ["system:serviceaccount:acme-dev:robot"],
  ],
  ["a group, which is no user", { kind: "Group", name: "staff" }, []],
])("%s", (_what, subject, users) => {
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "b", namespace: "acme-dev", uid: "u" },
    roleRef,
    subjects: [subject],
  };
  expect(rolesOf(binding).map(({ user, type }) => [user, type])).toEqual(
    users.map((user) => [user, "space_developer"]),
  );
});
