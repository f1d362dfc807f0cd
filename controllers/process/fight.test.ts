// When an LRP that is changed again and again is a fight, and when it is over.
import { expect, test } from "vitest";
import { aProcess } from "../../crds/testing/objects.ts";
import { planFight } from "./fight.ts";

const NOW = new Date("2026-01-01T02:00:00Z");
const since = (lastTransitionTime: string) => ({
  status: { conditions: [{ type: "Fight", status: "True", reason: "Restored", message: "", lastTransitionTime }] },
});

/** Repairs by cluster, counted since long ago. */
const repairs = (counts: Record<string, number>, since = 0) =>
  new Map(Object.entries(counts).map(([cluster, count]) => [cluster, { count, since }]));

test("ten repairs in an hour are a fight, and it names the cluster", () => {
  expect(planFight(aProcess(), repairs({ east: 9 }), NOW)).toEqual({});
  const { conditions } = planFight(aProcess(), repairs({ east: 10, west: 1 }), NOW);
  expect(conditions).toEqual([expect.objectContaining({ type: "Fight", status: "True" })]);
  expect(conditions?.[0]?.message).toContain("its LRPs on east again and again");
});

test("it is over after an hour without as many", () => {
  const recent = aProcess({}, since("2026-01-01T01:30:00Z"));
  expect(planFight(recent, new Map(), NOW)).toEqual({ requeueAfterMs: 1_800_000 });
  const { conditions } = planFight(aProcess({}, since("2026-01-01T01:00:00Z")), repairs({ east: 3 }), NOW);
  expect(conditions).toEqual([expect.objectContaining({ type: "Fight", status: "False" })]);
});

test("a replica that has just begun to count does not end it", () => {
  const old = aProcess({}, since("2026-01-01T00:00:00Z"));
  const begun = Date.parse("2026-01-01T01:45:00Z");
  expect(planFight(old, repairs({ east: 0 }, begun), NOW)).toEqual({ requeueAfterMs: 2_700_000 });
});
