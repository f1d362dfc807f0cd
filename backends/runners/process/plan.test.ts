// Scaling, restarts of single instances, and the status of an LRP.
import { describe, expect, it } from "vitest";
import type { LrpInstance } from "../../../crds/lrp/lrp.ts";
import { type OpenSlots, planSlots, presentStatus, type SlotPlan } from "./plan.ts";

const slots = (...indexes: number[]): OpenSlots => indexes.map((index) => ({ index, restart: undefined }));

describe("planSlots", () => {
  const rows: [string, OpenSlots, Parameters<typeof planSlots>[1], SlotPlan][] = [
    ["a new LRP", [], { instances: 2 }, { open: [0, 1], close: [], restart: [] }],
    ["nothing to do", slots(0, 1), { instances: 2 }, { open: [], close: [], restart: [] }],
    ["up", slots(0), { instances: 3 }, { open: [1, 2], close: [], restart: [] }],
    ["down takes the highest first", slots(0, 1, 2, 3), { instances: 1 }, { open: [], close: [3, 2, 1], restart: [] }],
    ["a gap is filled", slots(0, 2), { instances: 3 }, { open: [1], close: [], restart: [] }],
    [
      "one instance afresh",
      slots(0, 1),
      { instances: 2, restartInstances: { "1": "x" } },
      { open: [], close: [], restart: [{ index: 1, value: "x" }] },
    ],
    [
      "not twice",
      [{ index: 0, restart: "x" }],
      { instances: 1, restartInstances: { "0": "x" } },
      { open: [], close: [], restart: [] },
    ],
    [
      "one that goes is not started afresh",
      slots(0, 1),
      { instances: 1, restartInstances: { "1": "x" } },
      { open: [], close: [1], restart: [] },
    ],
  ];
  it.each(rows)("%s", (_name, open, spec, wanted) => {
    expect(planSlots(open, spec)).toEqual(wanted);
  });
});

describe("presentStatus", () => {
  const up: LrpInstance = { index: 0, state: "Running", ready: true };
  const rows: [string, LrpInstance[], number, { running: number; ready: unknown }][] = [
    [
      "all up",
      [up],
      1,
      { running: 1, ready: { status: "True", reason: "Running", message: "1 of 1 instances are running" } },
    ],
    [
      "none wanted",
      [],
      0,
      { running: 0, ready: { status: "True", reason: "Running", message: "0 of 0 instances are running" } },
    ],
    [
      "running is not ready",
      [{ ...up, ready: false }],
      1,
      { running: 0, ready: { status: "False", reason: "Starting", message: "0 of 1 instances are running" } },
    ],
    [
      "the crashed one is named",
      [up, { index: 1, state: "Crashed", ready: false, details: "Exited with status 1" }],
      2,
      {
        running: 1,
        ready: {
          status: "False",
          reason: "Crashed",
          message: "1 of 2 instances are running; instance 1: Exited with status 1",
          isFailure: true,
        },
      },
    ],
  ];
  it.each(rows)("%s", (...[, instances, wanted, { running, ready }]) => {
    const shown = presentStatus(instances, wanted);
    expect(shown.status.runningInstances).toBe(running);
    expect(shown.ready).toEqual(ready);
  });

  it("orders by index and omits undefined fields", () => {
    const shown = presentStatus([{ ...up, index: 1, details: undefined }, up], 2);
    expect(shown.status.instances.map((instance) => instance.index)).toEqual([0, 1]);
    expect(Object.keys(shown.status.instances[1] ?? {})).not.toContain("details");
  });
});
