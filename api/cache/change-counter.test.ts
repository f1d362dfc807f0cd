// A version grows with the changes it covers and with no other.
import { expect, test } from "vitest";
import { createChangeCounter } from "./change-counter.ts";

test("by namespace, a change elsewhere leaves a version as it is", () => {
  const counter = createChangeCounter(true);
  const before = [counter.version(["a"]), counter.version(["a", "b"]), counter.version()];
  counter.count("b");
  expect([counter.version(["a"]), counter.version(["a", "b"]), counter.version()]).toEqual([
    before[0],
    before[1]! + 1,
    before[2]! + 1,
  ]);
});

test("a change of the watch counts everywhere", () => {
  const counter = createChangeCounter(true);
  const before = counter.version(["a"]);
  counter.countAll();
  expect(counter.version(["a"])).toBe(before + 1);
});

test("without namespaces every change counts everywhere", () => {
  const counter = createChangeCounter(false);
  const before = counter.version(["a"]);
  counter.count("b");
  expect(counter.version(["a"])).toBe(before + 1);
});
