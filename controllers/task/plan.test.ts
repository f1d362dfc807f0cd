// The TaskRun of a Task, and the Task's status from it.
import { describe, expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { aDroplet, makeObject } from "../../crds/testing/objects.ts";
import { Task } from "../../crds/task/task.ts";
import type { TaskRun } from "../../crds/task-run/task-run.ts";
import { tenancy } from "../shared/testing/fixtures.ts";
import { planTaskRun, planTaskRunUpdate, planTaskStatus } from "./plan.ts";

const task = makeObject(Task, "shop.1", {
  spec: { appRef: { name: "shop" }, name: "migrate", command: "rake db:migrate", memoryMB: 256 },
});
const run = planTaskRun({
  task,
  taskGUID: "task-guid",
  app: { guid: "app-guid", name: "My Shop" },
  tenancy,
  droplet: aDroplet(),
  groupEnv: [
    { name: "COLOR", value: "red" },
    { name: "REGION", value: "eu" },
  ],
  services: { env: [] },
  env: [
    { name: "COLOR", value: "blue" },
    { name: "VCAP_APPLICATION", value: "mine" },
  ],
  apiURL: "http://api",
  uris: ["shop.example"],
  className: "job",
}) as unknown as TaskRun;

describe("the TaskRun", () => {
  test("is whole, named for its task, and labelled by the contract", () => {
    expect(run.metadata.name).toMatch(/^shop-1-[0-9a-f]{10}$/);
    expect(run.metadata.labels).toMatchObject({
      [LABELS.app]: "app-guid",
      [LABELS.space]: "space-guid",
      [LABELS.org]: "org-guid",
      [LABELS.sourceType]: "TASK",
    });
    expect(run.metadata.annotations).toMatchObject({ "cupola.dev/task-name": "migrate" });
    expect(run.spec).toMatchObject({
      class: "job",
      taskGUID: "task-guid",
      taskName: "migrate",
      command: "rake db:migrate",
      memoryMB: 256,
      diskMB: 1024,
      cancelled: false,
      droplet: { kind: "docker", image: "example.com/x:1" },
    });
  });

  test("has the app's environment, and the task's own limits", () => {
    const env = new Map(run.spec.env.map(({ name, value }) => [name, value]));
    expect([env.get("COLOR"), env.get("REGION")]).toEqual(["blue", "eu"]);
    expect(env.get("MEMORY_LIMIT")).toBe("256m");
    expect(JSON.parse(env.get("VCAP_APPLICATION") ?? "")).toMatchObject({
      application_name: "My Shop",
      application_uris: ["shop.example"],
      limits: { mem: 256, disk: 1024 },
    });
  });

  test("only its cancellation changes", () => {
    const after = planTaskRunUpdate(run, { ...task.spec, command: "other", cancelled: true });
    expect(after).toMatchObject({ metadata: run.metadata, spec: { ...run.spec, cancelled: true } });
    expect(planTaskRunUpdate(after as unknown as TaskRun, task.spec)).toMatchObject({ spec: { cancelled: true } });
  });
});

describe("the status", () => {
  const statusOf = (status: object | undefined) =>
    planTaskStatus(task, { sequenceID: 1, droplet: "d1", run: status && ({ ...run, status } as TaskRun) });

  test("is Pending until the run says something", () => {
    expect(statusOf(undefined).status).toMatchObject({ state: "Pending", sequenceID: 1, droplet: "d1" });
    expect(statusOf({}).status).toMatchObject({ state: "Pending" });
  });

  test("an obstacle of a pending run is the condition's message, no failure", () => {
    const { status, ready } = statusOf({ state: "Pending", details: "no room" });
    expect(status).toMatchObject({ state: "Pending", failureReason: undefined });
    expect(ready).toMatchObject({ status: "False", message: "no room", isFailure: true });
  });

  test.each([
    [{ state: "Failed", details: "Exited with status 3" }, "APP/TASK/migrate: Exited with status 3"],
    [{ state: "Failed", details: "task was cancelled" }, "task was cancelled"],
    [{ state: "Failed" }, "the run failed"],
    [{ state: "Succeeded", details: "left over" }, undefined],
  ])("%j has the failure reason %s", (status, reason) =>
    expect(statusOf(status).status).toMatchObject({ failureReason: reason }),
  );

  test("a task that succeeded is Ready", () =>
    expect(statusOf({ state: "Succeeded" }).ready).toMatchObject({ status: "True" }));
});
