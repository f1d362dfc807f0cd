// The contract of a runner of tasks (docs/workload-contract.md) as rows, each on TaskRuns alone.
import { beforeAll, describe, expect, test } from "vitest";
import { LABELS } from "../../../crds/labels.ts";
import { TaskRun } from "../../../crds/task-run/task-run.ts";
import type { Condition } from "../../../kube/api/object.ts";
import { eventually } from "../../eventually.ts";
import type { RunnerEnvironment } from "./environment.ts";
import type { RunnerSuite } from "./suite.ts";

export type TaskEnvironment = Pick<
  RunnerEnvironment,
  "client" | "className" | "namespace" | "space" | "droplet" | "command" | "patience"
> & {
  /** How long a task may take that never ends; long enough for its start. */
  timeoutSeconds?: number;
  /** A task that needs three seconds to end after SIGTERM, and resolves `isTrapped` once it is ready for the signal. Default: the probe. */
  slowToEnd?: { change: object; isTrapped: () => Promise<void> };
};

interface Task {
  get(): Promise<TaskRun>;
  /** Waits until it has ended. */
  ended(): Promise<TaskRun>;
  inState(state: string): Promise<TaskRun>;
  isGone(): Promise<boolean>;
}

const SLOW_MS = 60_000;
const PROBE_SLOW_TO_END = { env: [{ name: "PROBE_ON_SIGTERM", value: "3000" }] };

export async function createTask(env: TaskEnvironment, name: string, change: object = {}): Promise<Task> {
  const { client, namespace, patience } = env;
  const key = { namespace, name };
  await client.create(TaskRun, {
    metadata: { ...key, labels: { [LABELS.app]: `app-${name}`, [LABELS.space]: env.space.guid } },
    spec: {
      class: env.className,
      app: { guid: `app-${name}`, name },
      space: env.space,
      org: { guid: "org-guid", name: "org" },
      taskGUID: `task-${name}`,
      taskName: name,
      droplet: env.droplet,
      command: env.command,
      memoryMB: 128,
      diskMB: 256,
      ...change,
    },
  });
  const get = (): Promise<TaskRun> => client.get(TaskRun, key);
  const until = (states: readonly string[]): Promise<TaskRun> =>
    eventually(async () => {
      const task = await get();
      expect(states, JSON.stringify(task.status)).toContain(task.status?.state);
      return task;
    }, patience);
  return {
    get,
    ended: () => until(["Succeeded", "Failed"]),
    inState: (state) => until([state]),
    isGone: async () => (await client.find(TaskRun, key)) === undefined,
  };
}

const readyOf = (task: TaskRun): Condition | undefined => task.status?.conditions?.find(({ type }) => type === "Ready");
const exit = (code: number) => ({ env: [{ name: "PROBE_EXIT", value: String(code) }] });

/** `start` makes the environment once. */
export function taskTests({
  name,
  start,
  skip,
}: Omit<RunnerSuite, "start"> & { start: () => Promise<TaskEnvironment> }): void {
  describe.skipIf(skip)(`runner of tasks ${name}`, () => {
    let env: TaskEnvironment;
    beforeAll(async () => {
      env = await start();
    });

    test.concurrent("a command that ends well has succeeded", async () => {
      const task = await (await createTask(env, "good", exit(0))).ended();
      expect(task.status).toMatchObject({
        state: "Succeeded",
        exitCode: 0,
        observedGeneration: task.metadata.generation,
      });
      const { startedAt = "", finishedAt = "" } = task.status ?? {};
      expect(Date.parse(finishedAt)).toBeGreaterThanOrEqual(Date.parse(startedAt));
      expect(readyOf(task)?.status).toBe("True");
    });

    test.concurrent("a command that fails has failed with its exit code, and is not run again", async () => {
      const made = await createTask(env, "bad", exit(3));
      const task = await made.ended();
      expect(task.status).toMatchObject({ state: "Failed", exitCode: 3, details: "Exited with status 3" });
      expect(readyOf(task)).toMatchObject({ status: "False", message: "Exited with status 3" });
    });

    test.concurrent("a task above its memory limit fails with that reason", async () => {
      const hog = { env: [{ name: "PROBE_HOG_MB", value: "512" }] };
      const { status } = await (await createTask(env, "hog", hog)).ended();
      expect(status).toMatchObject({ state: "Failed", details: expect.stringMatching(/out of memory/) });
    });

    test.concurrent("a task that does not end in time fails with that reason", async () => {
      const { timeoutSeconds = 5 } = env;
      const { status } = await (await createTask(env, "slow", { timeoutSeconds })).ended();
      expect(status).toMatchObject({ state: "Failed", details: expect.stringContaining(`${timeoutSeconds} s`) });
    });

    test.concurrent("a cancelled task ends, and has failed", async () => {
      const made = await createTask(env, "cancelled");
      await made.inState("Running");
      await env.client.patch(
        TaskRun,
        { namespace: env.namespace, name: "cancelled" },
        { type: "merge", body: { spec: { cancelled: true } } },
      );
      const { status } = await made.ended();
      expect(status).toMatchObject({ state: "Failed", details: expect.stringMatching(/cancelled/) });
      expect(status?.exitCode).toBeUndefined();
    });

    test.concurrent("a droplet of a kind that the class does not take fails at once", async () => {
      const [kind, reason] = env.droplet.kind === "host" ? ["docker", /image/] : ["host", /host/];
      const droplet = { guid: "other", kind, image: "example.com/x:1", processTypes: {} };
      const { status } = await (await createTask(env, "other-kind", { droplet })).ended();
      expect(status).toMatchObject({ state: "Failed", details: expect.stringMatching(reason) });
    });

    test.concurrent("a deleted task exists until it has ended", async () => {
      const made = await createTask(env, "deleted", env.slowToEnd?.change ?? PROBE_SLOW_TO_END);
      await made.inState("Running");
      await env.slowToEnd?.isTrapped();
      const deleted = Date.now();
      await env.client.delete(TaskRun, { namespace: env.namespace, name: "deleted" });
      await eventually(async () => expect(await made.isGone()).toBe(true), SLOW_MS);
      expect(Date.now() - deleted).toBeGreaterThan(2500);
    });
  });
}
