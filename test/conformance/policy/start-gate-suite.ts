// Rules that read other objects, with no webhook that answers: every write passes, and what they refuse does not start. What runs is not stopped.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { Task } from "../../../crds/task/task.ts";
import { TaskRun } from "../../../crds/task-run/task-run.ts";
import { applyObjects } from "../../../platform/install.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, currentLRP, readyOf, setRunning, untilReady } from "../controllers/test-env.ts";
import { PolicyPlatform, type PolicyServer } from "./controllers-platform.ts";

const ONE_APP = {
  kind: "OneApp",
  title: "One app",
  subjects: ["App"],
  reads: [{ as: "apps", kind: "App", scope: "space" }],
  rules: [
    {
      expression: "!refs.apps.exists(a, a.spec.state == 'Started')",
      messageExpression: "'another app of space ' + variables.space + ' is started'",
    },
  ],
};
const DENIED = "One app: another app of space dev is started (policy one)";

/** Tasks run one at a time, the oldest first. */
const RUNNING_TASKS = {
  kind: "RunningTasks",
  title: "Running tasks",
  subjects: ["Task"],
  reads: [{ as: "tasks", kind: "Task", scope: "space" }],
  variables: [
    {
      name: "open",
      expression:
        "refs.tasks.filter(t, !has(t.status) || !has(t.status.state) || !(t.status.state in ['Succeeded', 'Failed']))",
    },
    { name: "created", expression: "object.metadata.creationTimestamp" },
  ],
  rules: [
    {
      expression:
        "variables.open.all(t, t.metadata.creationTimestamp > variables.created || (t.metadata.creationTimestamp == variables.created && t.metadata.name > object.metadata.name))",
      message: "one at a time",
    },
  ],
};

export function startGateTests(server: { name: string; start(): Promise<PolicyServer> }): void {
  describe(`the start gate on ${server.name}`, () => {
    let platform: PolicyPlatform;
    const key = (name: string) => ({ namespace: platform.namespace, name });
    const set = (name: string, spec: object) =>
      platform.client.patch(App, key(name), { type: "merge", body: { spec } as Record<string, unknown> });
    const untilHeld = async (name: string): Promise<void> => {
      const app = await untilReady(platform.client, App, key(name), { status: "False", reason: "PolicyDenied" });
      expect(readyOf(app)?.message).toBe(DENIED);
    };

    beforeAll(async () => {
      platform = new PolicyPlatform(await server.start());
      await platform.start();
      await applyObjects(
        platform.client,
        ["runner", "task-runner"].map((role) => systemObject(BackendClass, role, { role, default: true })),
      );
      await platform.installTemplate(ONE_APP);
      await platform.installTemplate(RUNNING_TASKS);
      await platform.constrain({}, { kind: "OneApp", name: "one" });
      await platform.constrain({}, { kind: "RunningTasks", name: "one" });
    }, 180_000);
    afterAll(() => platform?.stop());

    test("no ValidatingAdmissionPolicy holds such rules, and the audit counts who breaks them", async () => {
      await eventually(async () =>
        expect((await platform.constraint({ kind: "OneApp", name: "one" })).status).toMatchObject({
          by: "StartGate",
          totalViolations: 0,
        }),
      );
      await platform.untilEnforced({ kind: "OneApp", name: "one" });
      expect(await platform.policies()).toEqual([]);
    });

    test("an app that a rule refuses is stored and does not start; its condition names the policy", async () => {
      await applyApp(platform.client, key("first"));
      const lrp = await eventually(() => currentLRP(platform.client, key("first")));
      await setRunning(platform.client, lrp);
      await applyApp(platform.client, key("second"));
      await untilHeld("second");
      const { status } = await platform.client.get(App, key("second"));
      expect(status?.revision).toBeUndefined();
    });

    test("a restart that is refused stops nothing, and goes on once the rule allows it", async () => {
      const { metadata } = await currentLRP(platform.client, key("first"));
      const { status } = await platform.client.get(App, key("first"));
      await set("first", { restart: "1" });
      await untilHeld("first");
      expect((await platform.client.get(LRP, metadata)).metadata.deletionTimestamp).toBeUndefined();
      await set("second", { state: "Stopped" });
      await eventually(async () => {
        const app = await platform.client.get(App, key("first"));
        expect([app.status?.revision === status?.revision, app.status?.observedRestart]).toEqual([false, "1"]);
      });
    });

    test("of two tasks that are made at once the gate holds one back until the other has ended", async () => {
      const names = ["task-a", "task-b"];
      const spec = { appRef: { name: "first" }, command: "true", dropletRef: { name: "first-droplet" } };
      await Promise.all(names.map((name) => platform.client.create(Task, { metadata: key(name), spec })));
      const list = async () => (await platform.client.list(TaskRun, { namespace: platform.namespace })).items;
      const held = await eventually(async () => {
        const tasks = await Promise.all(names.map((name) => platform.client.get(Task, key(name))));
        const waiting = tasks.filter((task) => readyOf(task)?.reason === "PolicyDenied");
        expect([waiting.length, (await list()).length]).toEqual([1, 1]);
        return waiting[0]!;
      });
      const [run] = await list();
      expect(run?.spec.taskName).not.toBe(held.metadata.name);
      await platform.client.patch(
        TaskRun,
        run!.metadata,
        { type: "merge", body: { status: { state: "Succeeded" } } },
        { subresource: "status" },
      );
      await eventually(async () =>
        expect((await list()).map(({ spec: { taskName } }) => taskName).sort()).toEqual(names),
      );
    });

    test("deleting the constraint opens", async () => {
      await set("second", { state: "Started" });
      await untilHeld("second");
      await platform.release({ kind: "OneApp", name: "one" });
      await eventually(() => currentLRP(platform.client, key("second")));
    });
  });
}
