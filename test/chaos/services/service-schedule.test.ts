// A seed means one schedule, for ever, and all kills and loads come up.
import { expect, test } from "vitest";
import { planServiceSchedule } from "./service-schedule.ts";

const plans = Array.from({ length: 200 }, (_none, seed) => planServiceSchedule(seed));

test("schedules come again with their seed, and differ between seeds", () => {
  expect(planServiceSchedule(7)).toEqual(plans[7]);
  expect(new Set(plans.map((plan) => JSON.stringify({ ...plan, seed: 0 }))).size).toBe(plans.length);
});

test("schedules kill the leader at every moment of every operation", () => {
  const found = new Set(plans.flatMap(({ kills }) => kills.map(({ operation, moment }) => `${operation} ${moment}`)));
  expect(found.size).toBe(6 * 4);
  expect(plans.some(({ services }) => services.some(({ isBroken }) => isBroken))).toBe(true);
});
