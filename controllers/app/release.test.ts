// When the release command runs as a task, and when it keeps a version from starting.
import { describe, expect, test } from "vitest";
import { aDroplet, anApp, aProcess, aRevision, makeObject } from "../../crds/testing/objects.ts";
import { Task } from "../../crds/task/task.ts";
import { findReleaseProblem } from "../shared/release-task.ts";
import { planReleaseTask, type ReleaseInput } from "./release.ts";

const droplet = aDroplet({ processTypes: { web: "run", release: "rake db:migrate" } });
const input = (change: Partial<ReleaseInput> = {}): ReleaseInput => ({
  app: anApp({ state: "Started", restart: "r1" }),
  guid: "app-guid",
  droplet,
  processes: [aProcess()],
  revisions: [],
  rollout: undefined,
  ...change,
});
const nameOf = (change: Partial<ReleaseInput>): string | undefined => planReleaseTask(input(change))?.metadata.name;

describe("the task", () => {
  test("runs the droplet's release command in that droplet", () =>
    expect(planReleaseTask(input())).toMatchObject({
      kind: "Task",
      metadata: { name: expect.stringMatching(/^shop-release-[0-9a-f]{10}$/) },
      spec: { name: "release", command: "rake db:migrate", appRef: { name: "shop" }, dropletRef: { name: "d1" } },
    }));

  test("has the command and the sizes of the process release, where they are set", () => {
    const spec = { type: "release", command: "mine", memoryMB: 77 };
    const release = { ...aProcess(), spec: { ...aProcess().spec, ...spec } };
    expect(planReleaseTask(input({ processes: [aProcess(), release] }))?.["spec"]).toMatchObject({
      command: "mine",
      memoryMB: 77,
    });
  });

  test.each<[string, Partial<ReleaseInput>]>([
    ["a droplet has no release command", { droplet: aDroplet() }],
    ["the release command is empty", { droplet: aDroplet({ processTypes: { web: "run", release: "" } }) }],
    [
      "a version with the droplet has started before",
      { revisions: [aRevision(1, { description: "", dropletRef: { name: "d1" }, env: [], processes: [] })] },
    ],
  ])("there is none when %s", (_title, change) => expect(planReleaseTask(input(change))).toBeUndefined());

  test("is the same for one start, and another for the next", () => {
    expect(nameOf({})).toBe(nameOf({}));
    expect(nameOf({ app: anApp({ state: "Started", restart: "r2" }) })).not.toBe(nameOf({}));
  });
});

describe("the version", () => {
  const taskIn = (status?: object): Task =>
    makeObject(Task, "t", { spec: { appRef: { name: "shop" }, command: "x" }, ...(status && { status }) });

  test.each<[Task | undefined, string | undefined]>([
    [undefined, "Releasing"],
    [taskIn(), "Releasing"],
    [taskIn({ state: "Running" }), "Releasing"],
    [taskIn({ state: "Failed", failureReason: "Exited with status 1" }), "ReleaseFailed"],
    [taskIn({ state: "Succeeded" }), undefined],
  ])("of task %j waits for: %s", (task, reason) => expect(findReleaseProblem(task)?.reason).toBe(reason));

  test("says why the command does not run, and why it failed", () => {
    const conditions = [{ type: "Ready", status: "False", message: "no class" }];
    expect(findReleaseProblem(taskIn({ state: "Pending", conditions }))?.message).toContain("no class");
    expect(findReleaseProblem(taskIn({ state: "Failed", failureReason: "Exited with status 1" }))?.message).toContain(
      "Exited with status 1",
    );
  });
});
