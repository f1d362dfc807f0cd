// Seeded choices: the same seed makes the same policies and questions on every machine.
import { randomFrom } from "../../random.ts";

/** A stream of choices. Each call moves it on. */
export interface Random {
  /** From 0 up to, not including, `below`. */
  int(below: number): number;
  /** True in `percent` of 100 calls. */
  chance(percent: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** Between `least` and `most` different ones, in the order of `from`. */
  some<T>(from: readonly T[], least: number, most: number): T[];
}

/** The stream of a seed; `parts` tell streams of one seed apart. */
export function createRandom(seed: number, ...parts: number[]): Random {
  const next = randomFrom(
    [seed, ...parts].reduce((sum, part) => Math.imul(sum ^ (part + 0x9e3779b9), 0x85ebca6b) >>> 0, 0x1234567),
  );
  const int = (below: number): number => Math.floor(next() * below);
  return {
    int,
    chance: (percent) => next() * 100 < percent,
    pick: (from) => from[int(from.length)] as (typeof from)[number],
    some(from, least, most) {
      const wanted = least + int(most - least + 1);
      const remaining = [...from.keys()];
      while (remaining.length > wanted) remaining.splice(int(remaining.length), 1);
      return remaining.map((at) => from[at] as (typeof from)[number]);
    },
  };
}
