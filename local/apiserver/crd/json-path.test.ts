// The JSONPath that CRD columns use.
import { expect, test } from "vitest";
import { findAll, parseJsonPath } from "./json-path.ts";

const object = {
  spec: { size: 3, "a.b": "dotted", list: [{ n: 1 }, { n: 2 }] },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Other", status: "False" },
    ],
  },
  metadata: { annotations: { "x.org/y": "z" } },
};

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

test("a path made to be tried in every way is refused at once", () => {
  const started = performance.now();
  expect(parseJsonPath(`.x[?(@${".a".repeat(5_000)}!`)).toBeUndefined();
  expect(performance.now() - started).toBeLessThan(2_000);
});

test("a filter may look deeper", () => {
  expect(
    findAll(parseJsonPath('.list[?(@.a.b=="x")].n') ?? [], {
      list: [
        { a: { b: "x" }, n: 1 },
        { a: { b: "y" }, n: 2 },
      ],
    }),
  ).toEqual([1]);
});

test("an invalid path is undefined", () => {
  expect(parseJsonPath("{.a")).toBeUndefined();
});
