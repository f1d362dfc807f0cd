// A seed means one schedule; what a schedule may hold, and what it leads to.
import { expect, test } from "vitest";
import { endOf, KILLED_PARTS, planNodeSchedule, type AppStep } from "./node-schedule.ts";

const plans = Array.from({ length: 200 }, (_, seed) => planNodeSchedule(seed));

test("a schedule comes again with its seed, and seeds differ", () => {
  expect(planNodeSchedule(7)).toEqual(planNodeSchedule(7));
  expect(new Set(plans.map((plan) => JSON.stringify({ ...plan, seed: 0 }))).size).toBe(plans.length);
});

test("all parts are killed, and every step occurs", () => {
  const killed = new Set(plans.flatMap(({ faults }) => faults.map(({ what }) => what)));
  expect([...killed].toSorted()).toEqual(["platform", ...KILLED_PARTS].toSorted());
  const steps = new Set(plans.flatMap(({ apps }) => apps.flatMap((app) => app.steps.map((step) => step.do))));
  expect([...steps].toSorted()).toEqual(["delete", "map", "push", "restart", "scale", "stop", "unmap"]);
});

test.each<[string, AppStep[], object]>([
  ["a push", [{ do: "push" }], { exists: true, instances: 1, hosts: ["a"] }],
  [
    "a scale",
    [{ do: "push" }, { do: "scale", instances: 3 }, { do: "push" }],
    { exists: true, instances: 3, hosts: ["a"] },
  ],
  ["a stop", [{ do: "push" }, { do: "stop" }], { exists: true, instances: 0, hosts: ["a"] }],
  [
    "routes",
    [{ do: "push" }, { do: "map", host: "b" }, { do: "unmap", host: "a" }],
    { exists: true, instances: 1, hosts: ["b"] },
  ],
  ["a deletion", [{ do: "push" }, { do: "delete" }], { exists: false, instances: 0, hosts: [] }],
])("%s leads to its end", (_what, steps, end) =>
  expect(endOf({ app: "a", steps, pauses: [] })).toEqual({ app: "a", ...end }),
);
