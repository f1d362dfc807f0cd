// The class `process-task` under the suite of runners of tasks; and what a restart of the platform does to a task.
import { afterAll, expect, test } from "vitest";
import { processTaskClass } from "../../../backends/runners/process/task/task-runner.ts";
import { startProcessEnvironment, type ProcessEnvironment } from "./process-environment.ts";
import { createTask, taskTests } from "./task-suite.ts";

let shared: ProcessEnvironment | undefined;
afterAll(() => shared?.stop());

taskTests({
  name: processTaskClass,
  start: async () => {
    shared = await startProcessEnvironment(processTaskClass, "task-runner");
    return {
      ...shared,
      timeoutSeconds: 2,
      slowToEnd: { command: "trap 'sleep 3; exit 0' TERM; sleep 60 & wait" },
    };
  },
});

test("a task runs on while the platform restarts, and its exit code is known", async () => {
  if (!shared) throw new Error("the suite has not started");
  const task = await createTask(shared, "restarted", { command: "sleep 1; exit 7" });
  await task.inState("Running");
  await shared.restartPlatform();
  expect((await task.ended()).status).toMatchObject({ state: "Failed", exitCode: 7, details: "Exited with status 7" });
});
