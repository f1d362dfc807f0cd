// Directives without a meaning: the fuzzer passes over differences where one is, so no other may count.
import { expect, test } from "vitest";
import { contradictions, hasMisusedDirective, hasStructuredKey, viewOfKind } from "./directives.ts";

const pods = (spec: object) => ({ spec: { template: { spec } } });

test.each([
  ["Deployment", pods({ "$setElementOrder/containers": [{ name: "a" }], containers: [{ name: "a" }] }), false],
  ["Deployment", pods({ containers: [{ name: "a", $patch: "delete" }, { $patch: "replace" }] }), false],
  ["Deployment", { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } }, false],
  [
    "ConfigMap",
    {
      metadata: {
        "$deleteFromPrimitiveList/finalizers": ["a/b"],
        "$setElementOrder/finalizers": ["c/d"],
        labels: { $patch: "replace" },
      },
    },
    false,
  ],
  ["Deployment", pods({ "$setElementOrder/containers": [] }), true],
  ["Deployment", pods({ "$setElementOrder/containers": [{}] }), true],
  ["Deployment", pods({ containers: [{ $patch: "delete" }] }), true],
  ["Deployment", { spec: { $patch: "other" } }, true],
  ["Role", { "$setElementOrder/rules": [{ verbs: ["get"] }] }, true],
  ["Role", { rules: [{ "$deleteFromPrimitiveList/verbs": ["get"] }] }, true],
  ["RoleBinding", { subjects: [{ name: "a", $patch: "delete" }] }, true],
])("of %s: %j", (kind, patch, isMisused) => expect(hasMisusedDirective(viewOfKind(kind), patch)).toBe(isMisused));

test("a value that is given and deleted", () => {
  expect(contradictions({ metadata: { finalizers: ["a/b"], "$deleteFromPrimitiveList/finalizers": ["a/b"] } })).toEqual(
    ["finalizers"],
  );
  expect(contradictions({ metadata: { finalizers: ["c/d"], "$deleteFromPrimitiveList/finalizers": ["a/b"] } })).toEqual(
    [],
  );
});

test("a map where the key of an item should be", () => {
  expect(hasStructuredKey(viewOfKind("Deployment"), pods({ volumes: [{ name: { a: 1 } }] }))).toBe(true);
  expect(hasStructuredKey(viewOfKind("Deployment"), pods({ volumes: [{ name: "a", emptyDir: {} }] }))).toBe(false);
});
