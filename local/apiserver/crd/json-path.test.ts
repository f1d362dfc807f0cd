// The JSONPath that CRD columns use.
import { expect, test } from "vitest";
import { findAll, parseJsonPath } from "./json-path.ts";

const object = { spec: { size: 3, "a.b": "dotted", list: [{ n: 1 }, { n: 2 }] }, status: { conditions: [{ type: "Ready", status: "True" }, { type: "Other", status: "False" }] }, metadata: { annotations: { "x.org/y": "z" } } };

test.each([
  [".spec.size", [3]],
  [".spec.missing.deeper", []],
  [".spec.list[1].n", [2]],
  [".spec.list[*].n", [1, 2]],
  [".spec['a.b']", ["dotted"]],
  [".spec.a\\.b", ["dotted"]],
  [".metadata.annotations.x\\.org/y", ["z"]],
  ['.status.conditions[?(@.type=="Ready")].status', ["True"]],
  [".status.conditions[?(@.type=='Other')].status", ["False"]],
])("%s", (path, expected) => {
  expect(findAll(parseJsonPath(path) ?? [], object)).toEqual(expected);
});

test("what is no such path is undefined", () => {
  expect(parseJsonPath("{.a")).toBeUndefined();
});
