// Randomness by seed: the same seeds give the same choices on every machine.
import { randomFrom } from "../../random.ts";

export interface Random {
  /** From 0 up to, not including, `below`. */
  int(below: number): number;
  chance(probability: number): boolean;
  /** An element of a list that is not empty. */
  pick<T>(list: readonly T[]): T;
  /** Each with the given probability, in order. */
  some<T>(list: readonly T[], probability: number): T[];
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T;
}

/** A generator of its own for each combination of seeds. */
export function randomOf(...seeds: number[]): Random {
  const next = randomFrom(
    seeds.reduce((mixed, seed) => Math.imul(mixed ^ (seed + 0x9e3779b9), 0x85ebca6b) ^ (mixed >>> 13), 0x2545f491),
  );
  const int = (below: number) => Math.floor(next() * below);
  const chance = (probability: number) => next() < probability;
  const pick = <T>(list: readonly T[]): T => list[int(list.length)] as T;
  return {
    int,
    chance,
    pick,
    some: (list, probability) => list.filter(() => chance(probability)),
    weighted(choices) {
      let remaining = next() * choices.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, choice] of choices) {
        remaining -= weight;
        if (remaining < 0) return choice;
      }
      return pick(choices)[1];
    },
  };
}
