// Every replica computes the same owner, sources are spread evenly, and few move when replicas join or leave.
import { expect, test } from "vitest";
import { pickOwner } from "./source-owner.ts";

const sources = Array.from({ length: 3000 }, (_, at) => `0194f1a0-${at}`);
const owners = (members: readonly string[]): (string | undefined)[] =>
  sources.map((source) => pickOwner(source, members));

test("without members no source has an owner", () => {
  expect(pickOwner("x", [])).toBeUndefined();
});

test("the order of the members does not matter", () => {
  expect(owners(["c", "a", "b"])).toEqual(owners(["a", "b", "c"]));
});

test("each gets about its share", () => {
  const counts = Object.groupBy(owners(["a", "b", "c"]), (owner) => owner ?? "");
  for (const member of ["a", "b", "c"]) expect(Math.abs((counts[member]?.length ?? 0) - 1000)).toBeLessThan(120);
});

test.each([
  ["leaves", ["a", "b", "c"], ["a", "c"]],
  ["comes", ["a", "c"], ["a", "b", "c"]],
])("when b %s, only what is b's moves", (_what, before, after) => {
  const [was, is] = [owners(before), owners(after)];
  const moved = sources.filter((_, at) => was[at] !== is[at]);
  const ofB = sources.filter((_, at) => was[at] === "b" || is[at] === "b");
  expect(moved).toEqual(ofB);
  expect(moved.length).toBeGreaterThan(800);
});
