// Tasks: creation, numbers, lists, cancellation, and who sees the command.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Task } from "../../../crds/task/task.ts";
import { TaskRun } from "../../../crds/task-run/task-run.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";

let bench: ApiHarness;
let space: { guid: string };
let app: { guid: string };
let droplet: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  const org = await bench.org("org");
  space = await bench.space(org, "space");
  app = await appWithDroplet("app");
  for (const user of ["ann", "bob", "carl"])
    await bench.make("/v3/roles", {
      type: "organization_user",
      relationships: { user: to(user), organization: to(org) },
    });
  await role("ann", "space_auditor");
  await role("bob", "space_supporter");
});
afterAll(() => bench.testEnv.stop());

const role = (user: string, type: string): Promise<unknown> =>
  bench.make("/v3/roles", { type, relationships: { user: to(user), space: to(space) } });

async function appWithDroplet(name: string): Promise<{ guid: string }> {
  const made = await bench.app(space, name);
  droplet = await bench.droplet(made, `${name}-droplet`);
  await bench.call("PATCH", `/v3/apps/${made.guid}/relationships/current_droplet`, to(droplet));
  return made;
}

// Bodies are what is under test.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
async function run(body: object, from = app): Promise<any> {
  const answer = await bench.call("POST", `/v3/apps/${from.guid}/tasks`, body);
  expect([answer.status, answer.json.errors]).toEqual([202, undefined]);
  return answer.json;
}

/** A runner's report about a task. */
async function report(guid: string, status: object): Promise<void> {
  const { kube } = bench.testEnv;
  await vi.waitFor(
    async () => {
      const found = (await kube.list(TaskRun)).items.find(({ spec }) => spec.taskGUID === guid);
      if (!found) throw new Error(`no TaskRun of task ${guid}`);
      await kube.patch(TaskRun, found.metadata, { type: "merge", body: { status } }, { subresource: "status" });
    },
    { timeout: 5000, interval: 20 },
  );
}

test("a task runs in the current droplet, with defaults, and is numbered", async () => {
  const first = await run({ command: "rake db:migrate" });
  expect(shapeProblems("task", first)).toEqual([]);
  expect(first).toMatchObject({
    sequence_id: 1,
    name: expect.stringMatching(/^[0-9a-f]{8}$/),
    command: "rake db:migrate",
    user: "vcap",
    state: "RUNNING",
    memory_in_mb: 1024,
    disk_in_mb: 1024,
    log_rate_limit_in_bytes_per_second: 1048576,
    result: { failure_reason: null },
    droplet_guid: droplet.guid,
    relationships: { app: to(app) },
  });
  const second = await run({
    command: "ls",
    name: "List files",
    memory_in_mb: 64,
    disk_in_mb: 128,
    log_rate_limit_in_bytes_per_second: 1000,
    metadata: { labels: { kind: "list" } },
  });
  expect(second).toMatchObject({
    sequence_id: 2,
    name: "List files",
    memory_in_mb: 64,
    disk_in_mb: 128,
    log_rate_limit_in_bytes_per_second: 1000,
    metadata: { labels: { kind: "list" } },
  });
});

test("states follow the run, and the reason of a failure is shown", async () => {
  const { guid } = await run({ command: "false", name: "f" });
  const stateOf = async (): Promise<string> =>
    (await bench.read(`/v3/tasks?guids=${guid}`)).resources.map((one: { state: string }) => one.state)[0];
  // As in CF: before any runner has told of it.
  expect(await stateOf()).toBe("RUNNING");
  await report(guid, { state: "Running", startedAt: "2026-01-01T00:00:00Z" });
  await vi.waitFor(async () => expect(await stateOf()).toBe("RUNNING"), { timeout: 5000, interval: 20 });
  await report(guid, { state: "Failed", details: "Exited with status 1" });
  await vi.waitFor(async () => expect(await stateOf()).toBe("FAILED"), { timeout: 5000, interval: 20 });
  expect((await bench.read(`/v3/tasks/${guid}`)).result).toEqual({
    failure_reason: "APP/TASK/f: Exited with status 1",
  });
  for (const [method, rest] of [
    ["POST", "/actions/cancel"],
    ["PUT", "/cancel"],
  ])
    expect(fault(await bench.call(method ?? "", `/v3/tasks/${guid}${rest}`))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "Task state is FAILED and therefore cannot be canceled",
    ]);
});

test("a cancelled task is CANCELING until it has ended; a supporter may cancel, an auditor may not", async () => {
  const { guid } = await run({ command: "sleep 100" });
  await report(guid, { state: "Running" });
  expect((await bench.call("PUT", `/v3/tasks/${guid}/cancel`, undefined, "ann")).status).toBe(403);
  const cancelled = await bench.call("POST", `/v3/tasks/${guid}/actions/cancel`, undefined, "bob");
  expect([cancelled.status, cancelled.json.state]).toEqual([202, "CANCELING"]);
  expect((await bench.call("PUT", `/v3/tasks/${guid}/cancel`)).json.state).toBe("CANCELING");
  const { kube } = bench.testEnv;
  await vi.waitFor(
    async () =>
      expect((await kube.list(TaskRun)).items.find(({ spec }) => spec.taskGUID === guid)?.spec.cancelled).toBe(true),
    { timeout: 5000, interval: 20 },
  );
});

test("commands are shown below an app to those who may read secrets, never in the list of all", async () => {
  const { guid } = await run({ command: "secret", name: "hidden" });
  const commandsOf = async (path: string, person?: "ann" | "bob"): Promise<unknown[]> =>
    (await bench.call("GET", path, undefined, person)).json.resources.map((one: { command?: string }) => one.command);
  expect(await commandsOf(`/v3/apps/${app.guid}/tasks?names=HIDDEN`)).toEqual(["secret"]);
  expect(await commandsOf(`/v3/apps/${app.guid}/tasks?names=hidden`, "ann")).toEqual([undefined]);
  expect(await commandsOf("/v3/tasks?names=hidden")).toEqual([undefined]);
  // A GET of a task that is under way is held.
  await report(guid, { state: "Succeeded" });
  expect((await bench.call("GET", `/v3/tasks/${guid}`, undefined, "bob")).json).not.toHaveProperty("command");
  expect((await bench.call("GET", `/v3/tasks/${guid}`, undefined, "carl")).status).toBe(404);
});

test("only developers create and label tasks", async () => {
  for (const person of ["ann", "bob"] as const)
    expect((await bench.call("POST", `/v3/apps/${app.guid}/tasks`, { command: "x" }, person)).status).toBe(403);
  const { guid } = await run({ command: "x" });
  const labels = { metadata: { labels: { a: "b" } } };
  expect((await bench.call("PATCH", `/v3/tasks/${guid}`, labels, "bob")).status).toBe(403);
  const labelled = await bench.call("PATCH", `/v3/tasks/${guid}`, labels);
  expect([labelled.status, labelled.json.metadata.labels]).toEqual([200, { a: "b" }]);
  expect((await bench.call("PATCH", `/v3/tasks/${guid}`, { name: "no" })).status).toBe(422);
});

test("a process is a template: its command and sizes; what the body says wins", async () => {
  await bench.call("POST", `/v3/apps/${app.guid}/processes/worker/actions/scale`, { memory_in_mb: 77 });
  const worker = await bench.read(`/v3/apps/${app.guid}/processes/worker`);
  const template = { process: { guid: worker.guid } };
  expect(await run({ template })).toMatchObject({ command: "npm run work", memory_in_mb: 77 });
  expect(await run({ template, command: "other", memory_in_mb: 66 })).toMatchObject({
    command: "other",
    memory_in_mb: 66,
  });
  expect(
    fault(await bench.call("POST", `/v3/apps/${app.guid}/tasks`, { template: { process: { guid: "no" } } })),
  ).toEqual([404, "CF-ProcessNotFound", "The process could not be found: no"]);
});

describe("refused", () => {
  test.each<[object, string]>([
    [{}, "Command No command or template provided"],
    [{ command: "x", memory_in_mb: 0 }, "Memory in mb must be greater than 0"],
    [{ command: "x", disk_in_mb: "1" }, "Disk in mb is not a number"],
    [
      { command: "x", log_rate_limit_in_bytes_per_second: -2 },
      "Log rate limit in bytes per second must be greater than -2",
    ],
    [{ command: "x".repeat(4097) }, "Command must be shorter than 4097 characters"],
    [{ command: "x", nope: 1 }, "Unknown field(s): 'nope'"],
  ])("%#", async (body, detail) =>
    expect(fault(await bench.call("POST", `/v3/apps/${app.guid}/tasks`, body))).toEqual([
      422,
      "CF-UnprocessableEntity",
      detail,
    ]),
  );

  test("without a droplet, or with another app's", async () => {
    const bare = await bench.app(space, "bare");
    expect(fault(await bench.call("POST", `/v3/apps/${bare.guid}/tasks`, { command: "x" }))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "Task must have a droplet. Specify droplet or assign current droplet to app.",
    ]);
    expect(
      fault(await bench.call("POST", `/v3/apps/${bare.guid}/tasks`, { command: "x", droplet_guid: droplet.guid })),
    ).toEqual([404, "CF-ResourceNotFound", "Droplet not found"]);
  });

  test("while the flag task_creation is off, but for admins", async () => {
    await bench.call("PATCH", "/v3/feature_flags/task_creation", { enabled: false });
    await role("carl", "space_developer");
    expect(fault(await bench.call("POST", `/v3/apps/${app.guid}/tasks`, { command: "x" }, "carl"))).toEqual([
      403,
      "CF-FeatureDisabled",
      "Feature Disabled: task_creation",
    ]);
    await run({ command: "x" });
    await bench.call("PATCH", "/v3/feature_flags/task_creation", { enabled: true });
  });
});

test("lists filter by number, state, app and space, and refuse what belongs to the other list", async () => {
  const other = await appWithDroplet("other");
  const { guid } = await run({ command: "x", name: "only" }, other);
  expect(await bench.column(`/v3/apps/${other.guid}/tasks?sequence_ids=1`, "guid")).toEqual([guid]);
  expect(await bench.column(`/v3/apps/${other.guid}/tasks?sequence_ids=2`, "guid")).toEqual([]);
  for (const query of [
    `app_guids=${other.guid}`,
    `names=only&space_guids=${space.guid}`,
    `guids=${guid}&states=RUNNING`,
  ])
    expect([query, await bench.column(`/v3/tasks?${query}`, "guid")]).toEqual([query, [guid]]);
  expect(await bench.column(`/v3/tasks?guids=${guid}&states=PENDING,FAILED`, "guid")).toEqual([]);
  expect((await bench.call("GET", `/v3/tasks?sequence_ids=1`)).status).toBe(400);
  expect((await bench.call("GET", `/v3/apps/${other.guid}/tasks?app_guids=x`)).status).toBe(400);
});

test("numbers are unique under races of two replicas, and tasks made by kubectl are numbered too", async () => {
  const racing = await appWithDroplet("racing");
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      bench.testEnv.replicas[at % 2 === 0 ? 0 : 1].call("admin", "POST", `/v3/apps/${racing.guid}/tasks`, {
        command: "x",
      }),
    ),
  );
  expect(answers.map(({ json }) => json.sequence_id).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 20 }, (_, at) => at + 1),
  );
  const { kube } = bench.testEnv;
  const namespace = (await kube.list(Task)).items[0]?.metadata.namespace;
  await kube.create(Task, {
    metadata: { name: "by-kubectl", namespace },
    spec: { appRef: { name: "racing" }, command: "x" },
  });
  await vi.waitFor(
    async () =>
      expect(await bench.column(`/v3/apps/${racing.guid}/tasks?names=by-kubectl`, "sequence_id")).toEqual([21]),
    { timeout: 5000, interval: 20 },
  );
});

test("an app takes its tasks along when it is deleted", async () => {
  const doomed = await appWithDroplet("doomed");
  const { guid } = await run({ command: "x" }, doomed);
  await bench.job(await bench.call("DELETE", `/v3/apps/${doomed.guid}`));
  await vi.waitFor(async () => expect((await bench.call("GET", `/v3/tasks/${guid}`)).status).toBe(404), {
    timeout: 5000,
    interval: 20,
  });
});

test("a release command runs before the first version with a droplet; when it fails, the version does not start", async () => {
  const released = await bench.app(space, "released");
  const made = await bench.droplet(released, "released-d", { processTypes: { web: "run", release: "migrate" } });
  await bench.call("PATCH", `/v3/apps/${released.guid}/relationships/current_droplet`, to(made));
  const tasksOf = async (): Promise<{ guid: string; command: string; state: string }[]> =>
    (await bench.read(`/v3/apps/${released.guid}/tasks?names=release&order_by=created_at`)).resources;
  const nthTask = async (count: number): Promise<string> =>
    await vi.waitFor(
      async () => {
        const tasks = await tasksOf();
        expect(tasks).toHaveLength(count);
        return tasks.find(({ state }) => state === "RUNNING")?.guid ?? "";
      },
      { timeout: 5000, interval: 20 },
    );
  const lrps = async (): Promise<number> =>
    (await bench.testEnv.kube.list(LRP)).items.filter(({ spec }) => spec.app.guid === released.guid).length;
  const stats = async (): Promise<{ state: string; details: string }> =>
    (await bench.read(`/v3/apps/${released.guid}/processes/web/stats`)).resources[0];

  await bench.call("POST", `/v3/apps/${released.guid}/actions/start`);
  await report(await nthTask(1), { state: "Failed", details: "Exited with status 1" });
  await vi.waitFor(
    async () =>
      expect(await stats()).toMatchObject({
        state: "CRASHED",
        details: expect.stringContaining("release command failed"),
      }),
    { timeout: 5000, interval: 20 },
  );
  expect(await lrps()).toBe(0);

  await bench.call("POST", `/v3/apps/${released.guid}/actions/restart`);
  await report(await nthTask(2), { state: "Succeeded" });
  await vi.waitFor(async () => expect(await lrps()).toBe(1), { timeout: 5000, interval: 20 });
  await bench.call("POST", `/v3/apps/${released.guid}/actions/restart`);
  await vi.waitFor(async () => expect(await bench.column(`/v3/apps/${released.guid}/tasks`, "guid")).toHaveLength(2));
});

test("a quota refuses a task that is too large, or one too many, in CF's words", async () => {
  const small = await bench.org("small");
  const room = await bench.space(small, "room");
  await bench.make("/v3/organization_quotas", {
    name: "tasks",
    apps: { total_memory_in_mb: 500, per_process_memory_in_mb: 400, per_app_tasks: 1 },
    relationships: { organizations: { data: [{ guid: small.guid }] } },
  });
  const limited = await bench.app(room, "limited");
  await bench.call(
    "PATCH",
    `/v3/apps/${limited.guid}/relationships/current_droplet`,
    to(await bench.droplet(limited, "limited-d")),
  );
  const refusal = async (memory: number): Promise<string> =>
    fault(await bench.call("POST", `/v3/apps/${limited.guid}/tasks`, { command: "x", memory_in_mb: memory }))[2];
  expect(await refusal(600)).toBe(
    "memory_in_mb exceeds organization memory quota, memory_in_mb exceeds organization instance memory quota",
  );
  await run({ command: "x", memory_in_mb: 300 }, limited);
  expect(await refusal(100)).toBe("app_task_limit quota exceeded");
  expect(await refusal(300)).toBe("memory_in_mb exceeds organization memory quota, app_task_limit quota exceeded");
});
