// Counts of instances during a rollout: CF's steps, and no gap whatever fails.
import { describe, expect, test } from "vitest";
import { anLRP } from "../../crds/testing/objects.ts";
import { countInstances, isReached, isRestored, planCounts, type VersionInstances } from "./rollout-counts.ts";

/** `rrsc`: by index routable, starting, crashed. */
function version(states: string): VersionInstances {
  return {
    instances: states.length,
    indexes: [...states].map((_state, index) => index),
    routable: new Set([...states].flatMap((state, index) => (state === "r" ? [index] : []))),
    failed: [...states].filter((state) => state === "c").length,
  };
}

describe("the next counts", () => {
  test.each<[string, string, string[], [number, number, number], number, number[]]>([
    ["the first instance of the new version starts beside all old ones", "", ["rrr"], [3, 3, 1], 1, [3]],
    ["nothing ends while it starts", "s", ["rrr"], [3, 3, 1], 1, [3]],
    ["one ready: one old ends, the next starts", "r", ["rrr"], [3, 3, 1], 2, [2]],
    ["the last one", "rrr", ["r"], [3, 3, 1], 3, [0]],
    ["two at once", "", ["rrrr"], [4, 4, 2], 2, [4]],
    ["two ready: two old end, two start", "rr", ["rrrr"], [4, 4, 2], 4, [2]],
    ["one of two ready: as in CF the next starts already", "rs", ["rrrr"], [4, 4, 2], 3, [3]],
    ["a crashed new instance stops the rollout, the old ones stay", "c", ["rrr"], [3, 3, 1], 1, [3]],
    ["a new instance that crashed later takes nothing away", "rc", ["rr"], [3, 3, 1], 2, [2]],
    ["an old version that is down gives way as the new one grows", "r", ["ccc"], [3, 3, 1], 2, [2]],
    ["an old instance that serves stays while another old one is down", "r", ["crr"], [3, 3, 1], 2, [3]],
    ["an old instance that is down ends first when it is the last", "r", ["rrc"], [3, 3, 1], 2, [2]],
    ["a broken version between ends before the oldest", "", ["c", "rrr"], [3, 3, 1], 1, [0, 3]],
    ["a canary of one beside all", "r", ["rrrr"], [5, 1, 1], 1, [4]],
    ["a canary of half", "r", ["rrrr"], [5, 2, 1], 2, [4]],
    ["a canary of half, reached", "rr", ["rrrr"], [5, 2, 1], 2, [3]],
    ["a cancellation starts all at once and keeps what serves", "r", ["rr"], [3, 3, Infinity], 3, [2]],
    ["a cancellation ends a broken new version at once", "rrr", ["c"], [3, 3, Infinity], 3, [0]],
    ["fewer instances afterwards: the surplus of the old version ends at once", "", ["rrrr"], [2, 2, 1], 1, [2]],
    ["no instances", "", [""], [0, 0, 1], 0, [0]],
  ])("%s", (_what, ...[target, others, [total, limit, maxInFlight], next, rest]) =>
    expect(planCounts(version(target), others.map(version), { total, limit, maxInFlight })).toEqual({
      target: next,
      others: rest,
    }),
  );

  test("whatever crashes on the way, no fewer instances take requests than before, up to the wanted number", () => {
    const states = ["r", "s", "c"];
    const random = (seed: number): (() => number) => {
      let x = seed;
      return () => (x = (x * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
    };
    for (let seed = 1; seed <= 3000; seed++) {
      const next = random(seed);
      const some = (most: number): string =>
        Array.from({ length: Math.floor(next() * (most + 1)) }, () => states[Math.floor(next() * 3)]).join("");
      const target = version(some(5));
      const others = [version(some(5)), version(some(5))];
      const total = Math.floor(next() * 6);
      const goal = { total, limit: Math.floor(next() * (total + 1)), maxInFlight: 1 + Math.floor(next() * 3) };
      const counts = planCounts(target, others, goal);
      const kept = others.reduce(
        (sum, { routable }, at) => sum + [...routable].filter((index) => index < (counts.others[at] ?? 0)).length,
        target.routable.size,
      );
      const before = others.reduce((sum, { routable }) => sum + routable.size, target.routable.size);
      expect(kept, `seed ${seed}`).toBeGreaterThanOrEqual(Math.min(before, total));
    }
  });
});

test("an LRP with a pool counts its first indexes, and its last one ends first", () => {
  const instance = (index: number, ready: boolean) => ({ index, state: "Running" as const, ready });
  const pooled = countInstances(
    anLRP(
      {
        spec: {
          instances: 2,
          indexes: [
            { start: 1, end: 1 },
            { start: 5, end: 8 },
          ],
        },
      },
      { instances: [instance(0, true), instance(1, true), instance(5, false), instance(6, true)] },
    ),
  );
  expect(pooled).toEqual({ instances: 2, indexes: [1, 5], routable: new Set([1]), failed: 0 });
  expect(planCounts(version("r"), [pooled], { total: 2, limit: 2, maxInFlight: 1 })).toEqual({
    target: 2,
    others: [1],
  });
});

test("a step is reached when each of its instances takes requests", () => {
  const goal = { total: 3, limit: 2, maxInFlight: 1 };
  expect(["rr", "rs", "r", "rrr"].map((states) => isReached(version(states), goal))).toEqual([
    true,
    false,
    false,
    true,
  ]);
});

test("a cancellation is over although the former version crashes, once the new one is gone", () => {
  const goal = { total: 2, limit: 2, maxInFlight: Infinity };
  expect(isRestored(version("rc"), [version("s")], goal)).toBe(true);
  expect(isRestored(version("rc"), [version("r")], goal)).toBe(false);
  expect(isRestored(version("rs"), [version("")], goal)).toBe(false);
});
