// Names of namespaces, and which are reserved.
import { describe, expect, test } from "vitest";
import { isReservedNamespace, planNamespaceName } from "./namespace-name.ts";

const uid = "12345678-90ab-4cde-8f01-234567890abc";
const long = "a-very-long-name-for-an-org-indeed";
const free = (): boolean => false;

describe("the name of a namespace", () => {
  test.each<[string, string[], string]>([
    ["an org's is its name", ["acme"], "acme"],
    ["a space's has both", ["acme", "dev"], "acme-dev"],
    ["a cut part needs the uid", [long, "dev"], "a-very-long-name-for-an-dev-12345"],
    ["a reserved one too", ["default"], "default-12345"],
    ["so does kube-anything", ["kube-x"], "kube-x-12345"],
  ])("%s", (_what, parts, expected) => {
    expect(planNamespaceName(uid, parts, [], free)).toBe(expected);
  });

  test("one that somebody else has is not taken", () => {
    expect(planNamespaceName(uid, ["acme"], [], (name) => name === "acme")).toBe("acme-12345");
  });

  test("one that carries the uid is ours, whatever its name", () => {
    const owned = { metadata: { name: "from-before" } };
    expect(planNamespaceName(uid, ["acme"], [owned], free)).toBe("from-before");
  });
});

test.each([
  ["default", true],
  ["kube-system", true],
  ["cupola-system", true],
  ["kubernetes", false],
  ["acme", false],
])("%s is reserved: %s", (name, expected) => {
  expect(isReservedNamespace(name)).toBe(expected);
});
