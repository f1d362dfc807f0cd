// Names as lists order them.
import { expect, test } from "vitest";
import { sortKeyOfName } from "./object-names.ts";

test("names are ordered without regard to case", () => {
  const objects = ["cc", "BB", "aa"].map((name) => ({ metadata: { name: "x" }, spec: { name } }));
  const byName = objects.toSorted((one, other) => (sortKeyOfName(one) < sortKeyOfName(other) ? -1 : 1));
  expect(byName.map(({ spec }) => spec.name)).toEqual(["aa", "BB", "cc"]);
});
