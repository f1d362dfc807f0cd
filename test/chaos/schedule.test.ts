// A seed means one schedule, for ever; and what a schedule may hold.
import { describe, expect, test } from "vitest";
import { planSchedule, REPLICAS } from "./schedule.ts";

const SEEDS = Array.from({ length: 300 }, (_, seed) => seed);

describe("schedules", () => {
  test("come again with their seed, and differ between seeds", () => {
    expect(planSchedule(7)).toEqual(planSchedule(7));
    expect(new Set(SEEDS.map((seed) => JSON.stringify({ ...planSchedule(seed), seed: 0 }))).size).toBe(SEEDS.length);
  });

  test("bring every fault, and every step", () => {
    const plans = SEEDS.map(planSchedule);
    const faults = new Set(
      plans.flatMap((plan) => plan.faults.map((fault) => (fault.what === "restart" ? fault.part : fault.what))),
    );
    expect([...faults].sort()).toEqual([
      "drop-watches",
      "etcd",
      "expire-watches",
      "kill",
      "kube-apiserver",
      "rates",
      "revoke-developer",
      "revoke-platform",
      "stall-watches",
    ]);
    const steps = new Set(plans.flatMap((plan) => plan.workload.flatMap(({ steps }) => steps.map((step) => step.do))));
    expect(steps.size).toBe(19);
  });

  test("begin and end within their time", () => {
    for (const { faults, workload, lengthMs } of SEEDS.map(planSchedule)) {
      expect(faults.every(({ atMs }) => atMs >= 0 && atMs <= lengthMs)).toBe(true);
      expect(
        workload.every(
          ({ pauses, steps }) =>
            pauses.length === steps.length && pauses.reduce((sum, pause) => sum + pause, 0) <= lengthMs + steps.length,
        ),
      ).toBe(true);
      expect(faults.filter((fault) => fault.what === "kill").every((fault) => fault.replica < REPLICAS)).toBe(true);
    }
  });

  test("let most requests through", () => {
    for (const { faults } of SEEDS.map(planSchedule)) {
      const rates = faults.flatMap((fault) => (fault.what === "rates" ? [fault.rates] : []));
      expect(rates).toHaveLength(1);
      for (const rate of rates) expect(Object.values(rate).reduce((sum, share) => sum + share, 0)).toBeLessThan(0.9);
    }
  });

  test("no step uses an object that an earlier step deleted", () => {
    for (const { workload } of SEEDS.map(planSchedule)) {
      for (const { steps } of workload) {
        const death = steps.findIndex((step) => step.do === "delete");
        expect(death === -1 || death === steps.length - 1).toBe(true);
      }
    }
  });
});
