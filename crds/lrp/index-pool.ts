// The instance indexes of an LRP: the first `instances` of its pool. Several LRPs of one process share its indexes by disjoint pools. Pure.
import { z } from "zod";
import { listAtomic, withRules } from "../../kube/api/resource.ts";

/** Bound of a process's instances; the highest index is one less. */
export const MAX_INSTANCES = 10_000;
/** Every second index of the largest process: two pools that alternate. */
const MAX_RANGES = MAX_INSTANCES / 2;

const index = z
  .int()
  .min(0)
  .max(MAX_INSTANCES - 1);
const indexRange = withRules(z.object({ start: index, end: index }), [
  { rule: "self.start <= self.end", message: "start must not be greater than end" },
]);
/** Both ends belong to it. */
export type IndexRange = z.output<typeof indexRange>;

/** A set of instance indexes, as ascending ranges. */
export const indexRanges = listAtomic(z.array(indexRange).max(MAX_RANGES));

/** The fields of an LRP's spec that say which instances it has. */
export interface IndexPool {
  instances: number;
  /** All indexes from 0 when left out. */
  indexes?: readonly IndexRange[] | undefined;
}

/** Indexes of the instances that are wanted, ascending: fewer than `instances` where the pool is smaller. */
export function wantedIndexes({ instances, indexes }: IndexPool): number[] {
  return indexes ? listIndexes(indexes).slice(0, instances) : Array.from({ length: instances }, (_, index) => index);
}

/** A function that says of an index whether its instance is wanted. */
export function toWantedIndex(pool: IndexPool): (index: number) => boolean {
  if (!pool.indexes) return (index) => index < pool.instances;
  const wanted = new Set(wantedIndexes(pool));
  return (index) => wanted.has(index);
}

/** Indexes in the order in which instances get them: those that are wanted, the rest of the pool, then indexes that are in no pool. */
export function* indexesInOrder({ indexes }: IndexPool): Generator<number> {
  if (indexes) yield* listIndexes(indexes);
  for (let index = indexes ? MAX_INSTANCES : 0; ; index++) yield index;
}

/** So many indexes, ascending: those of the pool first, then the lowest others. */
export function firstIndexes(count: number, ranges: readonly IndexRange[] | undefined): number[] {
  const all = new Set(ranges ? listIndexes(ranges).slice(0, count) : []);
  for (let index = 0; all.size < count; index++) all.add(index);
  return [...all].sort((a, b) => a - b);
}

/** All indexes of the ranges, ascending, each once. */
export function listIndexes(ranges: readonly IndexRange[]): number[] {
  const all = new Set<number>();
  for (const { start, end } of ranges) for (let index = start; index <= end; index++) all.add(index);
  return [...all].sort((a, b) => a - b);
}

/** The fewest ranges that hold these indexes and no others, ascending. */
export function toRanges(indexes: Iterable<number>): IndexRange[] {
  const ranges: IndexRange[] = [];
  for (const index of [...new Set(indexes)].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.end === index - 1) last.end = index;
    else ranges.push({ start: index, end: index });
  }
  return ranges;
}
