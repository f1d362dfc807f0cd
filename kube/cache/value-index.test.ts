// The keys of a value, whatever their number: one is kept otherwise than several.
import { expect, test } from "vitest";
import { createValueIndex } from "./value-index.ts";

function setUp() {
  const index = createValueIndex();
  return { index, keys: (value: string): string[] => [...index.keys(value)] };
}

test("a value has no key, one, several in the order of their addition, and one again", () => {
  const { index, keys } = setUp();
  expect(keys("blue")).toEqual([]);
  index.update("a", [], ["blue"]);
  expect(keys("blue")).toEqual(["a"]);
  index.update("b", [], ["blue"]);
  index.update("c", [], ["blue"]);
  expect(keys("blue")).toEqual(["a", "b", "c"]);
  index.update("a", ["blue"], []);
  index.update("c", ["blue"], []);
  expect(keys("blue")).toEqual(["b"]);
  index.update("b", ["blue"], []);
  expect(keys("blue")).toEqual([]);
});

test("a key that is added twice counts once, and another key's removal leaves it", () => {
  const { index, keys } = setUp();
  index.update("a", [], ["blue"]);
  index.update("a", ["blue"], ["blue", "red"]);
  index.update("b", ["blue"], []);
  expect([keys("blue"), keys("red")]).toEqual([["a"], ["a"]]);
});

test("the keys that were read stay as they were while the index changes", () => {
  const { index } = setUp();
  index.update("a", [], ["blue"]);
  const read = index.keys("blue");
  index.update("a", ["blue"], []);
  expect([...read]).toEqual(["a"]);
});
