// Schedules of chaos between clusters.
import { expect, test } from "vitest";
import { mayLose, planClusterSchedule, SPOKES } from "./cluster-schedule.ts";

test("a seed means the same every time, and a hundred of them have every kind of event", () => {
  const seeds = Array.from({ length: 100 }, (_, seed) => planClusterSchedule(seed));
  expect(planClusterSchedule(7)).toEqual(seeds[7]);
  const kinds = new Set(seeds.flatMap(({ events }) => events.map(({ what }) => what)));
  expect(kinds.size).toBe(20);
});

test("most seeds let no app lose anything that nobody touches", () => {
  const seeds = Array.from({ length: 100 }, (_, seed) => planClusterSchedule(seed));
  const strict = seeds.filter((schedule) => SPOKES.every((spoke) => !mayLose(schedule, spoke)));
  expect(strict.length).toBeGreaterThan(50);
});
