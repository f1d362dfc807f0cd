// The status of an LRP from its instances.
import { describe, expect, it } from "vitest";
import type { LrpInstance } from "../crds/lrp/lrp.ts";
import { presentStatus } from "./lrp-status.ts";

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
