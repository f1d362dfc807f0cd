// The class `process-task` under the suite of runners of tasks; and what a restart of the platform does to a task.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { processTaskClass } from "../../../backends/runners/process/task/task-runner.ts";
import { eventually } from "../../eventually.ts";
import { startProcessEnvironment, type ProcessEnvironment } from "./process-environment.ts";
import { createTask, taskTests, type TaskEnvironment } from "./task-suite.ts";

let shared: ProcessEnvironment | undefined;
const signs = mkdtempSync(join(tmpdir(), "cupola-task-"));
afterAll(async () => {
  await shared?.stop();
  rmSync(signs, { recursive: true, force: true });
});

/** A task is Running before its shell has read the command, so it leaves a file once it traps SIGTERM. */
function slowToEnd(): NonNullable<TaskEnvironment["slowToEnd"]> {
  const sign = join(signs, "trapped");
  return {
    change: { command: `trap 'sleep 3; exit 0' TERM; touch ${sign}; sleep 60 & wait` },
    isTrapped: () => eventually(() => expect(existsSync(sign)).toBe(true)),
  };
}

taskTests({
  name: processTaskClass,
  start: async () => {
    shared = await startProcessEnvironment(processTaskClass, "task-runner");
    return {
      ...shared,
      timeoutSeconds: 2,
      slowToEnd: slowToEnd(),
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
