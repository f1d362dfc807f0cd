// RBAC decisions equal kube-apiserver's, and the index stays correct through changes.
import { describe, expect, it } from "vitest";
import { compactRules, describeRule, missingRules } from "./covers.ts";
import { ruleAllows } from "./match.ts";
import { createRbacIndex } from "./rbac-index.ts";
import type { PolicyRule, AccessAttributes, RbacUser } from "./types.ts";

const pods: PolicyRule = { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] };
const q = (
  verb: string,
  resource: string,
  more: Partial<{ group: string; subresource: string; name: string; namespace: string }> = {},
): AccessAttributes => ({ verb, group: "", resource, ...more });

describe("one rule", () => {
  it.each<[string, PolicyRule, AccessAttributes, boolean]>([
    ["verb and resource", pods, q("get", "pods"), true],
    ["other verb", pods, q("delete", "pods"), false],
    ["other group", pods, q("get", "pods", { group: "apps" }), false],
    ["resource does not give its subresource", pods, q("get", "pods", { subresource: "log" }), false],
    ["named subresource", { ...pods, resources: ["pods/log"] }, q("get", "pods", { subresource: "log" }), true],
    ["named subresource does not give the resource", { ...pods, resources: ["pods/log"] }, q("get", "pods"), false],
    ["*/log", { ...pods, resources: ["*/log"] }, q("get", "pods", { subresource: "log" }), true],
    ["*/log is not the resource", { ...pods, resources: ["*/log"] }, q("get", "pods"), false],
    ["pods/* is no wildcard", { ...pods, resources: ["pods/*"] }, q("get", "pods", { subresource: "log" }), false],
    ["* gives subresources", { ...pods, resources: ["*"] }, q("get", "pods", { subresource: "log" }), true],
    ["* verb and group", { apiGroups: ["*"], resources: ["*"], verbs: ["*"] }, q("frob", "x", { group: "y" }), true],
    ["name in resourceNames", { ...pods, resourceNames: ["a"] }, q("get", "pods", { name: "a" }), true],
    ["name not in resourceNames", { ...pods, resourceNames: ["a"] }, q("get", "pods", { name: "b" }), false],
    [
      "list without a name is not covered by resourceNames",
      { ...pods, resourceNames: ["a"] },
      q("list", "pods"),
      false,
    ],
    ["list by metadata.name is", { ...pods, resourceNames: ["a"] }, q("list", "pods", { name: "a" }), true],
    ["path", { verbs: ["get"], nonResourceURLs: ["/healthz"] }, { verb: "get", path: "/healthz" }, true],
    ["path prefix", { verbs: ["get"], nonResourceURLs: ["/healthz/*"] }, { verb: "get", path: "/healthz/etcd" }, true],
    [
      "path prefix needs the slash",
      { verbs: ["get"], nonResourceURLs: ["/healthz/*"] },
      { verb: "get", path: "/healthz" },
      false,
    ],
    ["resource rule gives no path", pods, { verb: "get", path: "/pods" }, false],
  ])("%s", (_name, rule, question, expected) => {
    expect(ruleAllows(rule, question)).toBe(expected);
  });
});

describe("escalation", () => {
  const all: PolicyRule = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
  it.each<[string, PolicyRule[], PolicyRule[], boolean]>([
    ["everything covers a rule", [all], [pods], true],
    ["but no path", [all], [{ verbs: ["get"], nonResourceURLs: ["/x"] }], false],
    [
      "two rules together",
      [
        { ...pods, verbs: ["get"] },
        { ...pods, verbs: ["list"] },
      ],
      [pods],
      true,
    ],
    ["a name does not cover all names", [{ ...pods, resourceNames: ["a"] }], [pods], false],
    ["all names cover a name", [pods], [{ ...pods, resourceNames: ["a"] }], true],
    ["*/log covers pods/log", [{ ...pods, resources: ["*/log"] }], [{ ...pods, resources: ["pods/log"] }], true],
    ["a list of verbs does not cover the wildcard", [pods], [{ ...pods, verbs: ["*"] }], false],
    ["nothing wanted", [], [], true],
  ])("%s", (_name, owned, wanted, expected) => {
    expect(missingRules(owned, wanted).length === 0).toBe(expected);
  });
  it("describes missing rules", () => {
    const missing = missingRules([pods], [{ ...pods, verbs: ["get", "create", "delete"] }]);
    expect(compactRules(missing).map(describeRule)).toEqual([
      '{APIGroups:[""], Resources:["pods"], Verbs:["create" "delete"]}',
    ]);
  });
});

const alice: RbacUser = { name: "alice", groups: ["dev", "system:authenticated"] };
const account: RbacUser = {
  name: "system:serviceaccount:ns:bot",
  groups: ["system:serviceaccounts", "system:authenticated"],
};
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" };

function indexWithReader() {
  const index = createRbacIndex();
  index.set("ClusterRole", { metadata: { name: "reader" }, rules: [pods] });
  return index;
}

describe("the index", () => {
  it("binds in one namespace only", () => {
    const index = indexWithReader();
    index.set("RoleBinding", {
      metadata: { name: "b", namespace: "ns" },
      roleRef,
      subjects: [{ kind: "User", name: "alice" }],
    });
    expect(index.allows(alice, q("get", "pods", { namespace: "ns", name: "x" }))).toBe(true);
    expect(index.allows(alice, q("get", "pods", { namespace: "other" }))).toBe(false);
    expect(index.allows(alice, q("list", "pods"))).toBe(false);
    expect(index.namespacesOf(alice)).toEqual(["ns"]);
    expect(index.explain(alice, q("get", "pods", { namespace: "ns" }))).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "reader" to User "alice"',
    });
  });
  it.each([
    [{ kind: "Group", name: "dev" }, alice, true],
    [{ kind: "Group", name: "system:authenticated" }, account, true],
    [{ kind: "ServiceAccount", name: "bot" }, account, true],
    [{ kind: "ServiceAccount", name: "bot", namespace: "ns" }, account, true],
    [{ kind: "ServiceAccount", name: "bot", namespace: "else" }, account, false],
    [{ kind: "User", name: "bot" }, account, false],
  ])("subject %j", (subject, user, expected) => {
    const index = indexWithReader();
    index.set("RoleBinding", { metadata: { name: "b", namespace: "ns" }, roleRef, subjects: [subject] });
    expect(index.allows(user, q("get", "pods", { namespace: "ns" }))).toBe(expected);
  });
  it("follows changes of roles and bindings, late roles included", () => {
    const index = createRbacIndex();
    const ask = () => index.allows(alice, q("get", "pods", { namespace: "ns" }));
    index.set("RoleBinding", {
      metadata: { name: "b", namespace: "ns" },
      roleRef,
      subjects: [{ kind: "User", name: "alice" }],
    });
    expect(ask()).toBe(false);
    expect(index.explain(alice, q("get", "pods", { namespace: "ns" })).reason).toBe(
      'RBAC: clusterrole.rbac.authorization.k8s.io "reader" not found',
    );
    index.set("ClusterRole", { metadata: { name: "reader" }, rules: [pods] });
    expect(ask()).toBe(true);
    index.set("RoleBinding", {
      metadata: { name: "b", namespace: "ns" },
      roleRef,
      subjects: [{ kind: "User", name: "bob" }],
    });
    expect(ask()).toBe(false);
    index.set("ClusterRoleBinding", { metadata: { name: "b" }, roleRef, subjects: [{ kind: "Group", name: "dev" }] });
    expect(ask()).toBe(true);
    index.remove("ClusterRoleBinding", { name: "b" });
    expect(ask()).toBe(false);
    expect(index.namespacesOf(alice)).toEqual([]);
  });
  it("a Role applies in its own namespace only", () => {
    const index = createRbacIndex();
    index.set("Role", { metadata: { name: "r", namespace: "a" }, rules: [pods] });
    for (const namespace of ["a", "b"]) {
      index.set("RoleBinding", {
        metadata: { name: "x", namespace },
        roleRef: { kind: "Role", name: "r" },
        subjects: [{ kind: "User", name: "alice" }],
      });
    }
    expect(index.allows(alice, q("get", "pods", { namespace: "a" }))).toBe(true);
    expect(index.allows(alice, q("get", "pods", { namespace: "b" }))).toBe(false);
  });
  it("recomputes for a recreated namespace", () => {
    const index = createRbacIndex();
    const ann: RbacUser = { name: "ann", groups: [] };
    const binding = {
      metadata: { name: "b", namespace: "space" },
      roleRef: { kind: "Role", name: "r" },
      subjects: [{ kind: "User", name: "ann" }],
    };
    for (const [verb, other] of [
      ["get", "list"],
      ["list", "get"],
      ["get", "list"],
    ] as const) {
      index.set("Role", { metadata: { name: "r", namespace: "space" }, rules: [{ ...pods, verbs: [verb] }] });
      index.set("RoleBinding", binding);
      expect(index.allows(ann, q(verb, "pods", { namespace: "space" }))).toBe(true);
      expect(index.allows(ann, q(other, "pods", { namespace: "space" }))).toBe(false);
      index.remove("RoleBinding", { name: "b", namespace: "space" });
      index.remove("Role", { name: "r", namespace: "space" });
      expect(index.allows(ann, q(verb, "pods", { namespace: "space" }))).toBe(false);
    }
  });

  it("collects names over bindings", () => {
    const index = createRbacIndex();
    for (const name of ["one", "two"]) {
      index.set("ClusterRole", { metadata: { name }, rules: [{ ...pods, resourceNames: [name] }] });
      index.set("ClusterRoleBinding", {
        metadata: { name },
        roleRef: { kind: "ClusterRole", name },
        subjects: [{ kind: "User", name: "alice" }],
      });
    }
    expect(index.allowedNames(alice, { verb: "get", group: "", resource: "pods", namespace: "any" })).toEqual(
      new Set(["one", "two"]),
    );
    expect(index.allowedNames(alice, { verb: "delete", group: "", resource: "pods" })).toEqual(new Set());
  });
  it("filters 10,000 objects in 1,000 namespaces without recomputing", () => {
    const index = indexWithReader();
    for (let i = 0; i < 1000; i++) {
      index.set("RoleBinding", {
        metadata: { name: "b", namespace: `n${i}` },
        roleRef,
        subjects: [{ kind: "User", name: i % 2 ? "alice" : "bob" }],
      });
    }
    const count = () =>
      Array.from({ length: 10_000 }, (_, i) =>
        index.allows(alice, q("get", "pods", { namespace: `n${i % 1000}`, name: `x${i}` })),
      ).filter(Boolean).length;
    expect(count()).toBe(5000);
    const started = performance.now();
    for (let i = 0; i < 10; i++) count();
    expect((performance.now() - started) / 10).toBeLessThan(200);
  });
});

it("does not confuse a user with one whose name spells out groups", () => {
  const index = createRbacIndex();
  index.set("ClusterRole", { metadata: { name: "reader" }, rules: [pods] });
  index.set("ClusterRoleBinding", { metadata: { name: "b" }, roleRef, subjects: [{ kind: "Group", name: "admins" }] });
  expect(index.allows({ name: "bob\ng:admins", groups: [] }, q("get", "pods"))).toBe(false);
  expect(index.allows({ name: "bob", groups: ["admins"] }, q("get", "pods"))).toBe(true);
});

it("allows system:masters everything, as kube-apiserver does before RBAC", () => {
  const index = createRbacIndex();
  const root: RbacUser = { name: "root", groups: ["system:masters"] };
  expect([
    index.allows(root, q("delete", "pods")),
    index.allows(root, { verb: "get", path: "/x" }),
    index.allowedNames(root, { verb: "get", group: "", resource: "pods" }),
  ]).toEqual([true, true, "all"]);
  expect(index.allows({ name: "system:masters", groups: [] }, q("delete", "pods"))).toBe(false);
});
