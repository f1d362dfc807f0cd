// Names and labels of namespaces.
import { describe, expect, test } from "vitest";
import { isReservedNamespace, isRight, planNamespaceName, type NamespaceObject } from "./namespaces.ts";

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
    ["and what a dot would make ambiguous", ["a.b"], "a-b-12345"],
  ])("%s", (_what, parts, expected) => {
    expect(planNamespaceName(uid, parts, [], free)).toBe(expected);
  });

  test("one that somebody else has is not taken", () => {
    expect(planNamespaceName(uid, ["acme"], [], (name) => name === "acme")).toBe("acme-12345");
  });

  test("one that carries the uid is ours, whatever its name", () => {
    const owned = { metadata: { name: "from-before" } } as NamespaceObject;
    expect(planNamespaceName(uid, ["acme"], [owned], free)).toBe("from-before");
  });
});

test.each([["default", true], ["kube-system", true], ["cupola-system", true], ["kubernetes", false], ["acme", false]])("%s is reserved: %s", (name, expected) => {
  expect(isReservedNamespace(name)).toBe(expected);
});

test("a namespace is right when it carries every label wanted and none that is not", () => {
  const seen = { metadata: { name: "n", labels: { a: "1", other: "x" }, annotations: { b: "2" } } } as unknown as NamespaceObject;
  expect(isRight(seen, { labels: { a: "1", gone: undefined }, annotations: { b: "2" } })).toBe(true);
  expect(isRight(seen, { labels: { a: "1", other: undefined }, annotations: {} })).toBe(false);
  expect(isRight(seen, { labels: { a: "2" }, annotations: {} })).toBe(false);
});
