// Scaling, and restarts of single instances.
import { describe, expect, it } from "vitest";
import { type OpenSlots, planSlots, type SlotPlan } from "./plan.ts";

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
      "the first of a pool",
      slots(0, 1, 2),
      {
        instances: 2,
        indexes: [
          { start: 1, end: 1 },
          { start: 3, end: 9 },
        ],
      },
      { open: [3], close: [2, 0], restart: [] },
    ],
    [
      "an instance that moved to another pool is not started afresh",
      slots(0, 1),
      { instances: 2, indexes: [{ start: 1, end: 2 }], restartInstances: { "0": "x", "1": "x" } },
      { open: [2], close: [0], restart: [{ index: 1, value: "x" }] },
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
