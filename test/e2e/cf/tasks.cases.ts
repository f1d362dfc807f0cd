// `cf` for tasks: run-task, tasks, task, terminate-task.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import type { Page } from "../support/api.ts";
import { makeApp, ofApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { forbidden, noSuchApp } from "./support/refusals.ts";

interface Task {
  guid: string;
  name: string;
  state: string;
  sequence_id: number;
  command: string;
  memory_in_mb: number;
  disk_in_mb: number;
  log_rate_limit_in_bytes_per_second: number;
  result: { failure_reason: string | null };
}

const stopped = (run: CaseRun): Promise<string> => makeApp(run, { is: "stopped" });

async function tasksOf(run: CaseRun): Promise<Task[]> {
  return (await ofApp<Page<Task>>(run, "tasks?order_by=-created_at")).resources;
}

/** The newest task, once it is so. */
async function untilTask(run: CaseRun, wanted: Partial<Task>): Promise<void> {
  await eventually(async () => expect((await tasksOf(run))[0]).toMatchObject(wanted), 60_000);
}

/** A stopped app with a task that runs until it is ended. */
async function longTask(run: CaseRun): Promise<void> {
  await stopped(run);
  await run.cf("developer", "run-task", run.name, "--command", "sleep 600", "--name", "long");
  await untilTask(run, { state: "RUNNING" });
}

export const TASK_CASES: readonly CommandCases[] = [
  {
    command: "run-task",
    cases: [
      {
        name: "--command, --name",
        given: stopped,
        run: ["run-task", "{name}", "--command", "echo done", "--name", "greet"],
        shows: [
          "Creating task for app {name} in org {org} / space {space} as",
          "Task has been submitted successfully for execution.",
          "OK",
          /task name:\s+greet/,
          /task id:\s+1/,
        ],
        effect: (run) => untilTask(run, { name: "greet", state: "SUCCEEDED", command: "echo done" }),
      },
      {
        name: "-m, -k, -l",
        given: stopped,
        run: "run-task {name} -c true -m 48M -k 96M -l 2K",
        effect: (run) =>
          untilTask(run, {
            memory_in_mb: 48,
            disk_in_mb: 96,
            log_rate_limit_in_bytes_per_second: 2048,
            command: "true",
          }),
      },
      {
        name: "--process, whose command it takes",
        given: stopped,
        run: ["run-task", "{name}", "--process", "web", "-m", "64M"],
        effect: async (run) => {
          const { command } = await ofApp<{ command: string }>(run, "processes/web");
          await untilTask(run, { command });
        },
      },
      {
        name: "without a command, which needs a process task",
        given: stopped,
        run: "run-task {name}",
        refused: ["Process task not found"],
      },
      {
        name: "--wait",
        given: stopped,
        run: ["run-task", "{name}", "--command", "echo done", "--wait"],
        shows: ["Waiting for task to complete execution...", "Task has completed successfully.", "OK"],
        effect: async (run) => expect((await tasksOf(run))[0]).toMatchObject({ state: "SUCCEEDED" }),
      },
      {
        name: "--wait for a task that fails",
        given: stopped,
        run: ["run-task", "{name}", "--command", "exit 3", "--wait"],
        refused: ["Task failed to complete successfully"],
        effect: async (run) => expect((await tasksOf(run))[0]).toMatchObject({ state: "FAILED" }),
      },
      {
        name: "an app without a droplet",
        given: (run) => makeApp(run, { is: "empty" }),
        run: "run-task {name} -c true",
        refused: ["App is not staged."],
      },
      forbidden("auditor", "run-task {name} -c true"),
      forbidden("manager", "run-task {name} -c true"),
      noSuchApp("run-task", "-c true"),
    ],
  },
  {
    command: "tasks",
    cases: [
      {
        name: "two tasks",
        given: async (run) => {
          await stopped(run);
          await run.cf("developer", "run-task", run.name, "-c", "true", "--name", "one", "--wait");
          await run.cf("developer", "run-task", run.name, "-c", "echo two", "--name", "two", "--wait");
        },
        run: "tasks {name}",
        shows: [
          "Getting tasks for app {name} in org {org} / space {space} as",
          /id\s+name\s+state\s+start time\s+command/,
          /2\s+two\s+SUCCEEDED\s+\w{3}, \d\d \w{3} \d{4} .*\s+echo two/,
          /1\s+one\s+SUCCEEDED/,
        ],
        effect: async (run) => expect(await tasksOf(run)).toHaveLength(2),
      },
      {
        name: "by an auditor, who does not see commands",
        as: "auditor",
        given: async (run) => {
          await stopped(run);
          await run.cf("developer", "run-task", run.name, "-c", "echo secret-command", "--wait");
        },
        run: "tasks {name}",
        shows: [/\[hidden\]/],
        hides: ["secret-command"],
        effect: async (run) => expect((await tasksOf(run))[0]?.command).toBe("echo secret-command"),
      },
      {
        name: "none",
        given: stopped,
        run: "tasks {name}",
        shows: ["No tasks found for application."],
        effect: async (run) => expect(await tasksOf(run)).toEqual([]),
      },
      noSuchApp("tasks"),
    ],
  },
  {
    command: "task",
    cases: [
      {
        name: "by its number",
        given: longTask,
        run: "task {name} 1",
        shows: [
          "Getting task 1 for app {name} in org {org} / space {space} as",
          /id:\s+1/,
          /name:\s+long/,
          /state:\s+RUNNING/,
          /command:\s+sleep 600/,
          /disk in mb:\s+\d+/,
          /memory in mb:\s+\d+/,
        ],
        effect: (run) => untilTask(run, { name: "long", state: "RUNNING" }),
      },
      {
        name: "a failed one, with its reason",
        given: async (run) => {
          await stopped(run);
          await run.cf("developer", "run-task", run.name, "-c", "exit 9");
          await untilTask(run, { state: "FAILED" });
        },
        run: "task {name} 1",
        shows: [/state:\s+FAILED/, /failure reason:\s+.*9/],
        effect: (run) => untilTask(run, { state: "FAILED" }),
      },
      {
        name: "a number that no task has",
        given: stopped,
        run: "task {name} 7",
        refused: ["Task sequence ID 7 not found."],
      },
      noSuchApp("task", "1"),
    ],
  },
  {
    command: "terminate-task",
    cases: [
      {
        name: "a running one",
        given: longTask,
        run: "terminate-task {name} 1",
        shows: ["Terminating task 1 of app {name} in org {org} / space {space} as", "OK"],
        effect: (run) => untilTask(run, { state: "FAILED", result: { failure_reason: "task was cancelled" } }),
      },
      {
        name: "one that is over",
        given: async (run) => {
          await stopped(run);
          await run.cf("developer", "run-task", run.name, "-c", "true", "--wait");
        },
        run: "terminate-task {name} 1",
        refused: ["Task state is SUCCEEDED and therefore cannot be canceled"],
      },
      {
        name: "a number that no task has",
        given: stopped,
        run: "terminate-task {name} 7",
        refused: ["Task sequence ID 7 not found."],
      },
      {
        name: "a word for a number",
        run: "terminate-task {name} first",
        refused: ["Incorrect usage: Value for TASK_ID must be integer"],
      },
      noSuchApp("terminate-task", "1"),
    ],
  },
];
