// Which changes wake the tasks that wait for a cluster.
import { expect, test } from "vitest";
import { IsolationSegment } from "../crds/isolation-segment/isolation-segment.ts";
import { Org } from "../crds/org/org.ts";
import { Space } from "../crds/space/space.ts";
import { Task } from "../crds/task/task.ts";
import { makeObject } from "../crds/testing/objects.ts";
import { resourceId } from "../kube/api/resource-ref.ts";
import type { Controller } from "../kube/controller/controller.ts";
import { taskPlacementController } from "./placement-decision/task-placement.ts";
import { OPEN_GATE } from "./shared/start-gate.ts";
import { taskController } from "./task/task.ts";

const aTask = (status?: object): Task =>
  makeObject(Task, "t", { spec: { appRef: { name: "shop" }, command: "true" }, ...(status && { status }) });

/** Whether a change of that kind enqueues the task, by the indexes that the controller has. */
function wakes(
  { watches = [], indexes = {} }: Controller,
  ref: typeof Org | typeof Space | typeof IsolationSegment,
  task: Task,
): boolean {
  const changed = { apiVersion: "v1", kind: ref.kind, metadata: { name: "changed" } };
  return watches
    .filter((rule) => resourceId(rule.ref) === resourceId(ref))
    .flatMap((rule) => Object.entries(rule.mapTo(changed, undefined as never)))
    .some(([index, value]) => indexes[index]?.(task).includes(value as string));
}

const controllers = {
  task: taskController({ apiURL: "", startGate: OPEN_GATE }),
  placement: taskPlacementController(),
};

test.each(["task", "placement"] as const)(
  "a segment, and its choice by space and org, wake those of %s that wait",
  (name) => {
    for (const ref of [IsolationSegment, Space, Org]) {
      expect(wakes(controllers[name], ref, aTask()), ref.kind).toBe(true);
      expect(wakes(controllers[name], ref, aTask({ state: "Pending" })), ref.kind).toBe(true);
      for (const begun of [{ cluster: "west" }, { state: "Running" }, { state: "Failed" }])
        expect(wakes(controllers[name], ref, aTask(begun)), ref.kind).toBe(false);
    }
  },
);
