// Which instances an LRP has: those of its pool, and all from 0 without one.
import { expect, test } from "vitest";
import { firstIndexes, indexesInOrder, toRanges, toWantedIndex, wantedIndexes, type IndexPool } from "./index-pool.ts";

const ranges = (...pairs: [number, number][]): { start: number; end: number }[] =>
  pairs.map(([start, end]) => ({ start, end }));

test.each<[string, IndexPool, number[]]>([
  ["no pool", { instances: 3 }, [0, 1, 2]],
  ["none wanted", { instances: 0, indexes: ranges([0, 5]) }, []],
  ["the first of a pool", { instances: 3, indexes: ranges([2, 2], [4, 9]) }, [2, 4, 5]],
  ["ranges in another order, and one twice", { instances: 9, indexes: ranges([4, 5], [1, 1], [5, 6]) }, [1, 4, 5, 6]],
  ["a pool that is too small", { instances: 3, indexes: ranges([7, 7]) }, [7]],
])("%s", (_what, pool, expected) => {
  expect(wantedIndexes(pool)).toEqual(expected);
  expect(Array.from({ length: 12 }, (_, index) => index).filter(toWantedIndex(pool))).toEqual(expected);
});

test("after a pool come indexes that no process has, so that none is doubled", () => {
  expect(
    indexesInOrder({ instances: 1, indexes: ranges([1, 1]) })
      .take(3)
      .toArray(),
  ).toEqual([1, 10_000, 10_001]);
  expect(indexesInOrder({ instances: 1 }).take(3).toArray()).toEqual([0, 1, 2]);
});

test("the fewest ranges hold a set of indexes", () => {
  expect(toRanges([5, 0, 2, 1, 5])).toEqual(ranges([0, 2], [5, 5]));
  expect(toRanges([])).toEqual([]);
});

test("instances that are shown have the indexes of the pool first, then the lowest others", () => {
  expect(firstIndexes(1, [{ start: 1, end: 3 }])).toEqual([1]);
  expect(firstIndexes(4, [{ start: 2, end: 2 }])).toEqual([0, 1, 2, 3]);
  expect(firstIndexes(2, undefined)).toEqual([0, 1]);
  expect(firstIndexes(0, [{ start: 0, end: 0 }])).toEqual([]);
});
