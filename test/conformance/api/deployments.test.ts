// Deployments and revisions: what clients see of a Rollout, what they may ask for, and CF's refusals.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Rollout } from "../../../crds/rollout/rollout.ts";
import { TaskRun } from "../../../crds/task-run/task-run.ts";
import { eventually } from "../../eventually.ts";
import { type FakeRunner, startFakeRunner } from "./fake-runner.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";

let bench: ApiHarness;
let runner: FakeRunner;
let space: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  space = await bench.space(await bench.org("org"), "space");
  runner = startFakeRunner(bench.testEnv.kube);
});
afterAll(async () => {
  await runner.stop();
  await bench.testEnv.stop();
});

type Deployment = Awaited<ReturnType<ApiHarness["read"]>>;

interface TestApp {
  guid: string;
  droplet: { guid: string };
}

/** A started app with three web instances that run. */
async function startApp(name: string, instances = 3): Promise<TestApp> {
  const app = await bench.app(space, name);
  const droplet = await bench.droplet(app, `${name}-d1`, { processTypes: { web: "npm start" } });
  expect((await bench.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, to(droplet))).status).toBe(
    200,
  );
  await bench.call("POST", `/v3/apps/${app.guid}/processes/web/actions/scale`, { instances });
  expect((await bench.call("POST", `/v3/apps/${app.guid}/actions/start`)).status).toBe(200);
  await expectWebs(app, [[app.guid, "RUNNING".repeat(instances)]]);
  return { guid: app.guid, droplet };
}

const deploy = (app: { guid: string }, more: object = {}): Promise<Deployment> =>
  bench.make("/v3/deployments", { relationships: { app: to(app) }, ...more });
const refuse = async (app: { guid: string }, more: object = {}): Promise<string> => {
  const [status, title, detail] = fault(
    await bench.call("POST", "/v3/deployments", { relationships: { app: to(app) }, ...more }),
  );
  expect([status, title]).toEqual([422, "CF-UnprocessableEntity"]);
  return detail;
};
const act = (deployment: Deployment, what: string): ReturnType<ApiHarness["call"]> =>
  bench.call("POST", `/v3/deployments/${deployment.guid}/actions/${what}`);

/** Waits until a deployment has this value and reason. */
async function untilStatus({ guid }: Deployment, status: string): Promise<Deployment> {
  return await vi.waitFor(
    async () => {
      const found = (await bench.read(`/v3/deployments?guids=${guid}`)).resources[0];
      expect(`${found.status.value} ${found.status.reason}`).toBe(status);
      return found;
    },
    { timeout: 10_000, interval: 20 },
  );
}

/** Waits until the app's web processes are these: GUID and the states of instances. */
async function expectWebs({ guid }: { guid: string }, expected: [string, string][]): Promise<void> {
  await vi.waitFor(
    async () => {
      const { resources } = await bench.read(`/v3/apps/${guid}/processes?types=web`);
      const seen: [string, string][] = [];
      for (const process of resources) {
        const stats = await bench.read(`/v3/processes/${process.guid}/stats`);
        seen.push([process.guid, stats.resources.map(({ state }: { state: string }) => state).join("")]);
      }
      expect(seen).toEqual(expected);
    },
    { timeout: 10_000, interval: 50 },
  );
}

const currentDroplet = async ({ guid }: { guid: string }): Promise<string> =>
  (await bench.read(`/v3/apps/${guid}/relationships/current_droplet`)).data.guid;

describe("rolling", () => {
  test("a deployment from its creation to its end", async () => {
    const app = await startApp("rolling");
    const droplet = await bench.droplet(app, "rolling-d2", { processTypes: { web: "npm start" } });
    const made = await deploy(app, { droplet: { guid: droplet.guid }, metadata: { labels: { a: "b" } } });
    expect(shapeProblems("deployment", made)).toEqual([]);
    expect(made).toMatchObject({
      status: { value: "ACTIVE", reason: "DEPLOYING" },
      strategy: "rolling",
      options: { max_in_flight: 1 },
      droplet: { guid: droplet.guid },
      previous_droplet: { guid: app.droplet.guid },
      metadata: { labels: { a: "b" }, annotations: {} },
      relationships: { app: to(app) },
    });
    const [process] = made.new_processes;
    expect(process).toEqual({ guid: expect.any(String), type: "web" });
    expect(await currentDroplet(app)).toBe(droplet.guid);
    expect((await bench.read(`/v3/processes/${process.guid}`)).type).toBe("web");

    const done = await untilStatus(made, "FINALIZED DEPLOYED");
    expect(done.revision).toEqual({ guid: expect.any(String), version: 2 });
    expect(Object.keys(done.links)).toEqual(["self", "app"]);
    await expectWebs(app, [[app.guid, "RUNNING".repeat(3)]]);
    expect((await bench.read(`/v3/apps/${app.guid}/processes/web`)).relationships.revision).toEqual(to(done.revision));
    expect((await bench.read(`/v3/processes/${process.guid}`)).guid).toBe(app.guid);
    expect(await bench.read(`/v3/deployments/${made.guid}`)).toEqual(done);
    expect(fault(await act(made, "cancel"))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "Cannot cancel a deployment with status: FINALIZED and reason: DEPLOYED",
    ]);
    const patched = await bench.call("PATCH", `/v3/deployments/${made.guid}`, { metadata: { labels: { a: null } } });
    expect([patched.status, patched.json.metadata.labels]).toEqual([200, {}]);
  });

  test("a version that crashes takes nothing away; meanwhile the web process keeps its size; cancel returns to the droplet", async () => {
    const app = await startApp("crashing", 2);
    const droplet = await bench.droplet(app, "crashing-d2");
    runner.broken.add("crashing 2");
    const made = await deploy(app, { droplet: { guid: droplet.guid } });
    await expectWebs(app, [
      [app.guid, "RUNNING".repeat(2)],
      [made.new_processes[0].guid, "CRASHED"],
    ]);
    await vi.waitFor(async () =>
      expect((await bench.read(`/v3/deployments?guids=${made.guid}`)).resources[0].status.details.error).toBe(
        "instance 0 of the new version: exit status 7",
      ),
    );
    const web = `/v3/apps/${app.guid}/processes/web`;
    expect(fault(await bench.call("POST", `${web}/actions/scale`, { instances: 5 }))[2]).toBe(
      "Cannot scale this process while a deployment is in flight.",
    );
    expect(fault(await bench.call("PATCH", web, { command: "x" }))[2]).toBe(
      "Cannot update this process while a deployment is in flight.",
    );
    expect(fault(await bench.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, to(droplet)))[2]).toBe(
      "Unable to assign current droplet while the app has a deployment in progress. Wait for the deployment to complete or cancel it.",
    );
    expect(await bench.column(`/v3/apps/${app.guid}/revisions/deployed`, "version")).toEqual([1, 2]);

    const canceled = await act(made, "cancel");
    expect([canceled.status, canceled.text]).toEqual([200, ""]);
    expect(await currentDroplet(app)).toBe(app.droplet.guid);
    await untilStatus(made, "FINALIZED CANCELED");
    await expectWebs(app, [[app.guid, "RUNNING".repeat(2)]]);
    expect(await bench.column(`/v3/apps/${app.guid}/revisions/deployed`, "version")).toEqual([1]);
  });

  test("sizes of the new web process are the process's at the end", async () => {
    const app = await startApp("sized", 2);
    const made = await deploy(app, {
      options: {
        web_instances: 4,
        memory_in_mb: 64,
        disk_in_mb: 65,
        log_rate_limit_in_bytes_per_second: 66,
        max_in_flight: 4,
      },
    });
    expect(made.options).toEqual({
      max_in_flight: 4,
      web_instances: 4,
      memory_in_mb: 64,
      disk_in_mb: 65,
      log_rate_limit_in_bytes_per_second: 66,
    });
    await untilStatus(made, "FINALIZED DEPLOYED");
    expect(await bench.read(`/v3/apps/${app.guid}/processes/web`)).toMatchObject({
      instances: 4,
      memory_in_mb: 64,
      disk_in_mb: 65,
      log_rate_limit_in_bytes_per_second: 66,
    });
    await expectWebs(app, [[app.guid, "RUNNING".repeat(4)]]);
  });

  test("a stopped app starts, and the deployment is over at once", async () => {
    const app = await bench.app(space, "stopped");
    const droplet = await bench.droplet(app, "stopped-d1");
    const made = await deploy(app, {
      droplet: { guid: droplet.guid },
      options: { web_instances: 2, memory_in_mb: 64 },
    });
    expect(shapeProblems("deployment", made)).toEqual([]);
    expect(made).toMatchObject({
      status: { value: "FINALIZED", reason: "DEPLOYED" },
      previous_droplet: { guid: null },
      new_processes: [],
    });
    await expectWebs(app, [[app.guid, "RUNNING".repeat(2)]]);
    expect(await bench.read(`/v3/apps/${app.guid}`)).toMatchObject({ state: "STARTED" });
    expect((await bench.read(`/v3/apps/${app.guid}/processes/web`)).memory_in_mb).toBe(64);
  });

  test("five at once: the newest deploys, the others are superseded", async () => {
    const app = await startApp("crowded");
    const made = await Promise.all(Array.from({ length: 5 }, () => deploy(app)));
    const all = await vi.waitFor(
      async () => {
        const { resources } = await bench.read(`/v3/deployments?app_guids=${app.guid}&order_by=-created_at`);
        expect(resources.map(({ status }: Deployment) => `${status.value} ${status.reason}`)).toEqual([
          "FINALIZED DEPLOYED",
          ...Array<string>(4).fill("FINALIZED SUPERSEDED"),
        ]);
        return resources;
      },
      { timeout: 10_000, interval: 50 },
    );
    expect(all.map(({ guid }: Deployment) => guid).sort()).toEqual(made.map(({ guid }) => guid).sort());
    await expectWebs(app, [[app.guid, "RUNNING".repeat(3)]]);
    expect(fault(await act(all[1], "cancel"))[2]).toBe(
      "Cannot cancel a deployment with status: FINALIZED and reason: SUPERSEDED",
    );
  });
});

describe("canary", () => {
  test("steps, continued one by one", async () => {
    const app = await startApp("canary", 4);
    const steps = [{ instance_weight: 25 }, { instance_weight: 50 }];
    const made = await deploy(app, { strategy: "canary", options: { canary: { steps } } });
    expect(shapeProblems("deployment", made)).toEqual([]);
    expect(made).toMatchObject({
      options: { canary: { steps } },
      status: { canary: { steps: { current: 1, total: 2 } } },
    });
    expect(await bench.column(`/v3/deployments?app_guids=${app.guid}&states=PREPAUSED,PAUSED`, "guid")).toEqual([
      made.guid,
    ]);

    const paused = await untilStatus(made, "ACTIVE PAUSED");
    expect(Object.keys(paused.links)).toEqual(["self", "app", "cancel", "continue"]);
    const second = made.new_processes[0].guid;
    await expectWebs(app, [
      [app.guid, "RUNNING".repeat(4)],
      [second, "RUNNING"],
    ]);
    expect(await bench.read(`/v3/processes/${second}`)).toMatchObject({
      guid: second,
      type: "web",
      instances: 1,
      relationships: { app: to(app), revision: to(paused.revision) },
    });
    expect(await bench.column(`/v3/processes?app_guids=${app.guid}&types=web`, "guid")).toEqual([app.guid, second]);

    expect((await act(made, "continue")).status).toBe(200);
    await expectWebs(app, [
      [app.guid, "RUNNING".repeat(3)],
      [second, "RUNNING".repeat(2)],
    ]);
    expect((await untilStatus(made, "ACTIVE PAUSED")).status.canary).toEqual({ steps: { current: 2, total: 2 } });
    expect((await act(made, "continue")).status).toBe(200);
    const done = await untilStatus(made, "FINALIZED DEPLOYED");
    expect(done.status.canary).toEqual({ steps: { current: 2, total: 2 } });
    await expectWebs(app, [[app.guid, "RUNNING".repeat(4)]]);
    expect(fault(await act(made, "continue"))[2]).toBe(
      "Cannot continue a deployment with status: FINALIZED and reason: DEPLOYED",
    );
  });

  test("canceled while it is paused", async () => {
    const app = await startApp("canceled");
    const made = await deploy(app, { strategy: "canary" });
    await untilStatus(made, "ACTIVE PAUSED");
    await act(made, "cancel");
    await untilStatus(made, "FINALIZED CANCELED");
    await expectWebs(app, [[app.guid, "RUNNING".repeat(3)]]);
  });
});

test("a stop and a start in between: the deployment is over, clients still find its process, and the app runs its droplet", async () => {
  const app = await startApp("interrupted", 2);
  const made = await deploy(app, { strategy: "canary" });
  await untilStatus(made, "ACTIVE PAUSED");
  const second = `/v3/processes/${made.new_processes[0].guid}`;
  await bench.call("POST", `/v3/apps/${app.guid}/actions/stop`);
  await expectWebs(app, [[app.guid, "DOWNDOWN"]]);
  expect((await bench.read(second)).guid).toBe(app.guid);
  await bench.call("POST", `/v3/apps/${app.guid}/actions/start`);
  await untilStatus(made, "FINALIZED DEPLOYED");
  await expectWebs(app, [[app.guid, "RUNNINGRUNNING"]]);
  expect((await bench.read(`${second}/stats`)).resources).toHaveLength(2);
});

describe("revisions", () => {
  test("each deployment of something new makes one; a rollback returns to droplet, variables and command", async () => {
    const app = await startApp("revised", 1);
    const env = (value: string): Promise<unknown> =>
      bench.call("PATCH", `/v3/apps/${app.guid}/environment_variables`, { var: { COLOR: value } });
    await env("blue");
    await untilStatus(await deploy(app), "FINALIZED DEPLOYED");
    await bench.call("PATCH", `/v3/apps/${app.guid}/processes/web`, { command: "npm run other" });
    await env("green");
    const sidecar = { name: "side", command: "run side", process_types: ["web"], memory_in_mb: 16 };
    await bench.make(`/v3/apps/${app.guid}/sidecars`, sidecar);
    const droplet = await bench.droplet(app, "revised-d2");
    await untilStatus(await deploy(app, { droplet: { guid: droplet.guid } }), "FINALIZED DEPLOYED");
    await untilStatus(await deploy(app), "FINALIZED DEPLOYED");

    const { resources } = await bench.read(`/v3/apps/${app.guid}/revisions`);
    expect(resources.map((one: Deployment) => shapeProblems("revision", one))).toEqual([[], [], []]);
    expect(resources.map(({ version, description }: Deployment) => [version, description])).toEqual([
      [1, "Initial revision."],
      [2, "New environment variables deployed."],
      [
        3,
        "Custom start command added for 'web' process. New droplet deployed. New environment variables deployed. New process type 'worker' added. Sidecars updated.",
      ],
    ]);
    const [, second, third] = resources;
    expect(second).toMatchObject({
      droplet: { guid: app.droplet.guid },
      processes: { web: { command: null } },
      sidecars: [],
      deployable: true,
    });
    expect(third.sidecars).toEqual([sidecar]);
    const variables = await bench.read(`/v3/revisions/${second.guid}/environment_variables`);
    expect(shapeProblems("revision_environment_variables", variables)).toEqual([]);
    expect(variables.var).toEqual({ COLOR: "blue" });
    expect(await bench.column(`/v3/apps/${app.guid}/revisions?versions=2,3`, "version")).toEqual([2, 3]);
    expect(await refuse(app, { revision: { guid: third.guid } })).toBe(
      "Unable to rollback. The code and configuration you are rolling back to is the same as the deployed revision.",
    );

    const back = await deploy(app, { revision: { guid: second.guid } });
    expect(back.droplet).toEqual(second.droplet);
    const done = await untilStatus(back, "FINALIZED DEPLOYED");
    expect(await bench.read(`/v3/revisions/${done.revision.guid}`)).toMatchObject({
      version: 4,
      description:
        "Custom start command removed for 'web' process. New droplet deployed. New environment variables deployed. Sidecars updated. Rolled back to revision 2.",
    });
    expect((await bench.read(`/v3/apps/${app.guid}/sidecars`)).resources).toEqual([]);
    expect((await bench.read(`/v3/apps/${app.guid}/environment_variables`)).var).toEqual({ COLOR: "blue" });
    expect((await bench.read(`/v3/apps/${app.guid}/processes/web`)).command).toBe("npm start");
    expect(await bench.column(`/v3/apps/${app.guid}/revisions/deployed`, "version")).toEqual([4]);
  });

  test("metadata, and 404 for what is not there", async () => {
    const app = await startApp("labelled", 1);
    const [revision] = (await bench.read(`/v3/apps/${app.guid}/revisions`)).resources;
    const path = `/v3/revisions/${revision.guid}`;
    const patched = await bench.call("PATCH", path, { metadata: { labels: { a: "b" } } });
    expect([patched.status, patched.json.metadata.labels]).toEqual([200, { a: "b" }]);
    expect(await bench.column(`/v3/apps/${app.guid}/revisions?label_selector=a=b`, "guid")).toEqual([revision.guid]);
    for (const missing of ["/v3/revisions/nope", "/v3/revisions/nope/environment_variables"])
      expect(fault(await bench.call("GET", missing))).toEqual([404, "CF-ResourceNotFound", "Revision not found"]);
    expect(fault(await bench.call("GET", "/v3/apps/nope/revisions"))[2]).toBe("App not found");
  });

  test("with the feature off none is shown or made, and no deployment starts from one", async () => {
    const app = await startApp("unrevised", 1);
    const [revision] = (await bench.read(`/v3/apps/${app.guid}/revisions`)).resources;
    await bench.call("PATCH", `/v3/apps/${app.guid}/features/revisions`, { enabled: false });
    expect(await refuse(app, { revision: { guid: revision.guid } })).toBe(
      "Cannot create deployment from a revision for an app without revisions enabled",
    );
    const droplet = await bench.droplet(app, "unrevised-d2");
    const done = await untilStatus(await deploy(app, { droplet: { guid: droplet.guid } }), "FINALIZED DEPLOYED");
    expect(done.revision).toBeNull();
    expect(await bench.column(`/v3/apps/${app.guid}/revisions`, "version")).toEqual([1]);
    expect((await bench.read(`/v3/apps/${app.guid}/processes/web`)).relationships.revision).toBeNull();
  });
});

describe("refusals", () => {
  test.each<[string, object, string]>([
    ["another strategy", { strategy: "recreate" }, "Strategy 'recreate' is not a supported deployment strategy"],
    ["droplet and revision", { droplet: { guid: "a" }, revision: { guid: "b" } }, "Droplet Cannot set both fields 'droplet' and 'revision'"],
    ["no options", { options: "x" }, "Options must be an object"],
    ["an unknown option", { options: { foo: 1 } }, "Options has unsupported key(s): foo"],
    ["none in flight", { options: { max_in_flight: 0 } }, "Max in flight must be an integer greater than 0"],
    ["instances as text", { options: { web_instances: "3" } }, "Web instances is not a number"],
    ["no memory", { options: { memory_in_mb: 0 } }, "Memory in mb must be greater than 0"],
    ["steps without canary", { options: { canary: { steps: [] } } }, "Options canary are only valid for Canary deployments"],
    ["steps of nothing", { strategy: "canary", options: { canary: { steps: [{}] } } }, 'Options canary steps missing key: "instance_weight", Options canary steps instance weight must be an Integer between 1-100 (inclusive)'],
    ["a step beyond", { strategy: "canary", options: { canary: { steps: [{ instance_weight: 101 }] } } }, "Options canary steps instance weight must be an Integer between 1-100 (inclusive)"],
    ["steps that descend", { strategy: "canary", options: { canary: { steps: [{ instance_weight: 20 }, { instance_weight: 10 }] } } }, "Options canary steps instance weight must be sorted in ascending order"],
    ["an unknown field", { foo: 1 }, "Unknown field(s): 'foo'"],
  ])("%s", async (_what, body, detail) => expect(await refuse({ guid: "any" }, body)).toBe(detail)); // prettier-ignore

  test("an app that is not there, or has no droplet, or another app's droplet", async () => {
    const unable = "Unable to use app. Ensure that the app exists and you have access to it.";
    expect(await refuse({ guid: "nope" })).toBe(unable);
    expect(fault(await bench.call("POST", "/v3/deployments", {}))[2]).toBe(unable);
    const app = await bench.app(space, "bare");
    expect(await refuse(app)).toBe(
      "Invalid droplet. Please specify a droplet in the request or set a current droplet for the app.",
    );
    const foreign = await bench.droplet(await bench.app(space, "other"), "foreign");
    expect(await refuse(app, { droplet: { guid: foreign.guid } })).toBe(
      "Unable to assign current droplet. Ensure the droplet exists and belongs to this app.",
    );
    expect(await refuse(app, { revision: { guid: "nope" } })).toBe("The revision does not exist");
  });

  test("a quota without room for one instance more", async () => {
    const org = await bench.org("tight");
    const tight = await bench.space(org, "tight");
    const app = await bench.app(tight, "tight");
    const droplet = await bench.droplet(app, "tight-d1", { processTypes: { web: "npm start" } });
    await bench.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, to(droplet));
    expect((await bench.call("POST", `/v3/apps/${app.guid}/actions/start`)).status).toBe(200);
    const quota = await bench.make("/v3/organization_quotas", {
      name: "tight",
      apps: { total_instances: 2 },
      relationships: { organizations: { data: [{ guid: org.guid }] } },
    });
    expect(quota.apps.total_instances).toBe(2);
    expect(await refuse(app, { options: { web_instances: 3, max_in_flight: 2 } })).toBe(
      "app_instance_limit app_instance_limit_exceeded for organization tight. This organization's quota may not be large enough to support rolling deployments or your configured max-in-flight.",
    );
    await untilStatus(await deploy(app), "FINALIZED DEPLOYED");
  });

  test("a deployment that is not there", async () => {
    for (const [method, rest] of [
      ["GET", ""],
      ["PATCH", ""],
      ["POST", "/actions/cancel"],
      ["POST", "/actions/continue"],
    ] as const)
      expect(
        fault(await bench.call(method, `/v3/deployments/nope${rest}`, method === "PATCH" ? {} : undefined)),
      ).toEqual([404, "CF-ResourceNotFound", "Deployment not found"]);
  });
});

test("a release command that fails ends its deployment: canceled, with the droplet and the instances of before", async () => {
  const app = await startApp("unreleased", 1);
  const droplet = await bench.droplet(app, "unreleased-d2", { processTypes: { web: "npm start", release: "migrate" } });
  const made = await deploy(app, { droplet: { guid: droplet.guid } });
  expect(await currentDroplet(app)).toBe(droplet.guid);
  const { kube } = bench.testEnv;
  await eventually(async () => {
    const run = (await kube.list(TaskRun)).items.find(({ spec }) => spec.app.guid === app.guid);
    expect(run).toBeDefined();
    const body = { status: { state: "Failed", details: "Exited with status 1" } };
    await kube.patch(TaskRun, run!.metadata, { type: "merge", body }, { subresource: "status" });
  });
  await untilStatus(made, "FINALIZED CANCELED");
  expect(await currentDroplet(app)).toBe(app.droplet.guid);
  await expectWebs(app, [[app.guid, "RUNNING"]]);
  const [rollout] = (await kube.list(Rollout)).items.filter(({ spec }) => spec.appRef.name === "unreleased");
  expect(rollout?.status?.conditions?.find(({ type }) => type === "Ready")?.message).toContain("Exited with status 1");
});

test("a Rollout made by kubectl is a deployment, and its fields are its verbs", async () => {
  const app = await startApp("kubectl", 2);
  const { kube } = bench.testEnv;
  const { namespace } = (await kube.list(Rollout)).items[0]!.metadata;
  const made = await kube.create(Rollout, {
    metadata: { name: "kubectl-1", namespace },
    spec: { appRef: { name: "kubectl" }, strategy: "canary" },
  });
  const deployment = { guid: made.metadata.uid };
  await untilStatus(deployment, "ACTIVE PAUSED");
  await kube.patch(Rollout, made.metadata, { type: "merge", body: { spec: { continuedSteps: 1 } } });
  await untilStatus(deployment, "FINALIZED DEPLOYED");
  await expectWebs(app, [[app.guid, "RUNNING".repeat(2)]]);
});
