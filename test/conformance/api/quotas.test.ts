// Quotas of orgs and spaces: create, update, apply, delete, who may; what exceeds one is refused in CF's words; usage summaries.
import { afterAll, beforeAll, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Process } from "../../../crds/process/process.ts";
import { Space } from "../../../crds/space/space.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";
import type { Answer } from "./test-env.ts";

let bench: ApiHarness;
let org: { guid: string };
let space: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  org = await bench.org("Org");
  space = await bench.space(org, "Space");
  await bench.make("/v3/roles", {
    type: "organization_manager",
    relationships: { user: { data: { guid: "ann" } }, organization: to(org) },
  });
  await bench.make("/v3/roles", {
    type: "organization_user",
    relationships: { user: { data: { guid: "bob" } }, organization: to(org) },
  });
  await bench.make("/v3/roles", {
    type: "space_developer",
    relationships: { user: { data: { guid: "bob" } }, space: to(space) },
  });
});
afterAll(() => bench.testEnv.stop());

const unprocessable = (detail: string): [number, string, string] => [422, "CF-UnprocessableEntity", detail];
const detail = (answer: Answer): string => fault(answer)[2];
const limits = {
  apps: { total_memory_in_mb: 512, total_instances: 3, per_app_tasks: 2, log_rate_limit_in_bytes_per_second: 5000 },
  services: { paid_services_allowed: false, total_service_keys: 4 },
  routes: { total_routes: 2, total_reserved_ports: 0 },
};

test("an org quota: create, get, list, update, apply, delete", async () => {
  const path = "/v3/organization_quotas";
  const made = await bench.make(path, { name: "Small", ...limits, domains: { total_domains: 1 } });
  expect(shapeProblems("organization_quota", made)).toEqual([]);
  expect([made.apps, made.services, made.routes, made.domains]).toEqual([
    { ...limits.apps, per_process_memory_in_mb: null },
    { ...limits.services, total_service_instances: null },
    limits.routes,
    { total_domains: 1 },
  ]);
  expect(await bench.read(`${path}/${made.guid}`)).toEqual(made);
  expect(await bench.column(`${path}?names=small`, "guid")).toEqual([made.guid]);
  expect(fault(await bench.call("POST", path, { name: "sMALL" }))).toEqual(
    unprocessable("Organization Quota 'sMALL' already exists."),
  );
  const other = await bench.org("Other");
  const applied = await bench.call("POST", `${path}/${made.guid}/relationships/organizations`, { data: [other] });
  expect(fault(applied)[0]).toBe(422);
  const well = await bench.call("POST", `${path}/${made.guid}/relationships/organizations`, {
    data: [{ guid: other.guid }],
  });
  expect([well.status, well.json.data]).toEqual([200, [{ guid: other.guid }]]);
  expect(fault(await bench.call("DELETE", `${path}/${made.guid}`))).toEqual(
    unprocessable(
      "This quota is applied to one or more organizations. Apply different quotas to those organizations before deleting.",
    ),
  );
  const patched = await bench.call("PATCH", `${path}/${made.guid}`, {
    name: "Smaller",
    apps: { total_memory_in_mb: null, total_instances: 1 },
  });
  expect([patched.json.name, patched.json.apps.total_memory_in_mb, patched.json.apps.total_instances]).toEqual([
    "Smaller",
    null,
    1,
  ]);
  const [standard] = await bench.column(`${path}?names=default`, "guid");
  await bench.call("POST", `${path}/${standard}/relationships/organizations`, { data: [{ guid: other.guid }] });
  expect((await bench.job(await bench.call("DELETE", `${path}/${made.guid}`))).operation).toBe(
    "organization_quota.delete",
  );
  expect(fault(await bench.call("GET", `${path}/${made.guid}`))[2]).toBe("Organization quota not found");
});

test.each([
  [{}, "Name can't be blank"],
  [{ name: "x", apps: { total_instances: -1 } }, "Apps Total instances must be greater than or equal to 0"],
  [{ name: "x", apps: { total_memory_in_mb: 1.5 } }, "Apps Total memory in mb must be an integer"],
  [{ name: "x", apps: { memory: 1 } }, "Apps Unknown field(s): 'memory'"],
  [{ name: "x", routes: [] }, "Routes must be an object"],
  [
    { name: "x", relationships: { organizations: { data: [{ guid: "none" }] } } },
    'Organizations with guids ["none"] do not exist, or you do not have access to them.',
  ],
])("no org quota of %j", async (body, text) => {
  expect(fault(await bench.call("POST", "/v3/organization_quotas", body))).toEqual(unprocessable(text));
});

test("no quota reserves more ports than it has routes, nor a space's more than its org's", async () => {
  const ofOrg =
    "Total reserved ports must be -1, 0, or a positive integer, and must be less than or equal to total routes.";
  const path = "/v3/organization_quotas";
  const routes = { total_routes: 3, total_reserved_ports: 5 };
  expect(fault(await bench.call("POST", path, { name: "ports", routes }))).toEqual(unprocessable(ofOrg));
  const well = await bench.make(path, { name: "ports", routes: { total_routes: 5, total_reserved_ports: 2 } });
  const fewer = await bench.call("PATCH", `${path}/${well.guid}`, { routes: { total_routes: 1 } });
  expect(fault(fewer)).toEqual(unprocessable(ofOrg));
  const unlimited = { routes: { total_routes: 1, total_reserved_ports: null } };
  expect((await bench.call("PATCH", `${path}/${well.guid}`, unlimited)).status).toBe(200);
  await bench.call("PATCH", `${path}/${well.guid}`, { routes: { total_routes: 5, total_reserved_ports: 2 } });
  const ports = await bench.org("ports");
  await bench.call("POST", `${path}/${well.guid}/relationships/organizations`, { data: [{ guid: ports.guid }] });
  const ofSpace = (total_reserved_ports: number): Promise<Answer> =>
    bench.call("POST", "/v3/space_quotas", {
      name: "ports",
      routes: { total_reserved_ports },
      relationships: { organization: to(ports) },
    });
  expect(detail(await ofSpace(3))).toMatch(/less than or equal to total reserved ports for the organization quota\.$/);
  expect((await ofSpace(2)).status).toBe(201);
});

test("only admins make org quotas; everybody reads them, and sees only orgs of theirs", async () => {
  expect((await bench.call("POST", "/v3/organization_quotas", { name: "mine" }, "ann")).status).toBe(403);
  const [{ guid, relationships }] = (await bench.call("GET", "/v3/organization_quotas", undefined, "ann")).json
    .resources;
  expect(relationships.organizations.data).toEqual([{ guid: org.guid }]);
  expect((await bench.call("PATCH", `/v3/organization_quotas/${guid}`, { name: "x" }, "ann")).status).toBe(403);
  expect((await bench.call("DELETE", `/v3/organization_quotas/${guid}`, undefined, "ann")).status).toBe(403);
});

test("a space quota is the org manager's; members of its spaces see it, and nobody else", async () => {
  const path = "/v3/space_quotas";
  const body = { name: "Tiny", ...limits, relationships: { organization: to(org), spaces: { data: [] } } };
  expect((await bench.call("POST", path, body, "bob")).status).toBe(403);
  const answer = await bench.call("POST", path, body, "ann");
  expect([answer.status, shapeProblems("space_quota", answer.json)]).toEqual([201, []]);
  const { guid } = answer.json;
  expect(detail(await bench.call("POST", path, body, "ann"))).toBe("Space Quota 'Tiny' already exists.");
  expect((await bench.call("GET", `${path}/${guid}`, undefined, "bob")).status).toBe(404);
  const applied = await bench.call(
    "POST",
    `${path}/${guid}/relationships/spaces`,
    { data: [{ guid: space.guid }] },
    "ann",
  );
  expect([applied.status, applied.json.data]).toEqual([200, [{ guid: space.guid }]]);
  expect((await bench.read(`/v3/spaces/${space.guid}`)).relationships.quota.data).toEqual({ guid });
  await expect
    .poll(async () => (await bench.call("GET", `${path}/${guid}`, undefined, "bob")).status, { timeout: 5000 })
    .toBe(200);
  expect((await bench.call("GET", `${path}?space_guids=${space.guid}`, undefined, "bob")).json.resources).toHaveLength(
    1,
  );
  expect((await bench.call("GET", `${path}/${guid}`, undefined, "carl")).status).toBe(404);
  expect((await bench.call("PATCH", `${path}/${guid}`, { name: "x" }, "bob")).status).toBe(403);
  expect(detail(await bench.call("DELETE", `${path}/${guid}`, undefined, "ann"))).toBe(
    "This quota is applied to one or more spaces. Remove this quota from all spaces before deleting.",
  );
  const elsewhere = await bench.space(await bench.org("Elsewhere"), "s");
  expect(
    detail(await bench.call("POST", `${path}/${guid}/relationships/spaces`, { data: [{ guid: elsewhere.guid }] })),
  ).toBe("Space quotas cannot be applied outside of their owning organization.");
  const wrong = await bench.call("DELETE", `${path}/${guid}/relationships/spaces/${elsewhere.guid}`);
  expect(detail(wrong)).toBe(
    `Unable to remove quota from space with guid '${elsewhere.guid}'. Ensure the space quota is applied to this space.`,
  );
  expect(
    (await bench.call("DELETE", `${path}/${guid}/relationships/spaces/${space.guid}`, undefined, "ann")).status,
  ).toBe(204);
  expect((await bench.job(await bench.call("DELETE", `${path}/${guid}`, undefined, "ann"))).state).toBe("COMPLETE");
});

test("what exceeds a quota is refused: starts, scaling, routes, domains; less is always allowed", async () => {
  const tight = await bench.org("Tight");
  const home = await bench.space(tight, "home");
  const quota = await bench.make("/v3/organization_quotas", {
    name: "tight",
    apps: { total_memory_in_mb: 300, per_process_memory_in_mb: 200, total_instances: 2 },
    routes: { total_routes: 1 },
    domains: { total_domains: 0 },
    relationships: { organizations: { data: [{ guid: tight.guid }] } },
  });
  const app = await bench.app(home, "one");
  const droplet = await bench.droplet(app, "tight-one", { processTypes: { web: "run" } });
  await bench.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, to(droplet));
  const scale = (body: object): Promise<Answer> => bench.call("POST", `/v3/processes/${app.guid}/actions/scale`, body);
  const start = (guid: string): Promise<Answer> => bench.call("POST", `/v3/apps/${guid}/actions/start`);
  // The default size is 1024 MB. A stopped app may have any.
  expect(fault(await start(app.guid))).toEqual(
    unprocessable("memory quota_exceeded, memory instance_memory_limit_exceeded"),
  );
  expect((await scale({ memory_in_mb: 150 })).status).toBe(202);
  expect((await start(app.guid)).status).toBe(200);
  expect(detail(await scale({ instances: 3 }))).toBe(
    "memory quota_exceeded, app_instance_limit app_instance_limit_exceeded",
  );
  expect((await scale({ instances: 2 })).status).toBe(202);
  const { usage_summary: used } = await bench.read(`/v3/organizations/${tight.guid}/usage_summary`);
  expect([used.started_instances, used.memory_in_mb]).toEqual([2, 300]);
  expect((await bench.read(`/v3/spaces/${home.guid}/usage_summary`)).usage_summary).toEqual(used);
  expect((await bench.call("GET", "/v3/info/usage_summary", undefined, "ann")).status).toBe(404);
  expect((await bench.read("/v3/info/usage_summary")).usage_summary.memory_in_mb).toBeGreaterThanOrEqual(300);
  // The quota shrinks below what is used: that may go on, and become less.
  await bench.call("PATCH", `/v3/organization_quotas/${quota.guid}`, { apps: { total_memory_in_mb: 100 } });
  expect((await scale({ instances: 1 })).status).toBe(202);
  expect(detail(await scale({ instances: 2 }))).toBe("memory quota_exceeded");
  const tooMany = await bench.manifest(home, "applications: [{name: one, instances: 2}]");
  expect((await bench.read(new URL(tooMany.headers.get("location") ?? "").pathname)).errors[0]?.detail).toBe(
    "For application 'one': memory quota_exceeded",
  );

  const [domain] = await bench.column("/v3/domains?names=apps.example", "guid");
  const route = (host: string): Promise<Answer> =>
    bench.call("POST", "/v3/routes", { host, relationships: { space: to(home), domain: to(domain ?? "") } });
  expect((await route("a")).status).toBe(201);
  expect(detail(await route("b"))).toBe("Routes quota exceeded for organization 'Tight'.");
  expect(
    detail(
      await bench.call("POST", "/v3/domains", { name: "tight.example", relationships: { organization: to(tight) } }),
    ),
  ).toBe('The number of private domains exceeds the quota for organization "Tight"');
});

test("unlimited logs and a limit of logs exclude each other", async () => {
  const noisy = await bench.org("Noisy");
  const app = await bench.app(await bench.space(noisy, "s"), "loud");
  const path = "/v3/organization_quotas";
  const quota = await bench.make(path, {
    name: "noisy",
    relationships: { organizations: { data: [{ guid: noisy.guid }] } },
  });
  await bench.call("POST", `/v3/processes/${app.guid}/actions/scale`, { log_rate_limit_in_bytes_per_second: -1 });
  const limit = { apps: { log_rate_limit_in_bytes_per_second: 10 } };
  expect(detail(await bench.call("PATCH", `${path}/${quota.guid}`, limit))).toBe(
    "Current usage exceeds new quota values. This quota is applied to org 'Noisy' which contains apps running with an unlimited log rate limit.",
  );
  const quiet = await bench.make(path, { name: "quiet", ...limit });
  const applied = await bench.call("POST", `${path}/${quiet.guid}/relationships/organizations`, {
    data: [{ guid: noisy.guid }],
  });
  expect(detail(applied)).toBe(
    "Current usage exceeds new quota values. The org(s) being assigned this quota contain apps running with an unlimited log rate limit.",
  );
});

test("tasks: their number, and their memory beside that of apps", async () => {
  const busy = await bench.org("Busy");
  const app = await bench.app(await bench.space(busy, "s"), "jobs");
  const droplet = await bench.droplet(app, "jobs");
  const quota = await bench.make("/v3/organization_quotas", {
    name: "busy",
    apps: { total_memory_in_mb: 500, per_process_memory_in_mb: 400, per_app_tasks: 2 },
    relationships: { organizations: { data: [{ guid: busy.guid }] } },
  });
  const run = (memory: number): Promise<Answer> =>
    bench.call("POST", `/v3/apps/${app.guid}/tasks`, {
      command: "x",
      memory_in_mb: memory,
      log_rate_limit_in_bytes_per_second: 1,
      droplet_guid: droplet.guid,
    });
  expect(detail(await run(401))).toBe("memory_in_mb exceeds organization instance memory quota");
  expect(detail(await run(501))).toBe(
    "memory_in_mb exceeds organization memory quota, memory_in_mb exceeds organization instance memory quota",
  );
  expect((await run(300)).status).toBe(202);
  expect(detail(await run(300))).toBe("memory_in_mb exceeds organization memory quota");
  expect((await run(100)).status).toBe(202);
  expect(detail(await run(1))).toBe("app_task_limit quota exceeded");
  const { usage_summary: used } = await bench.read(`/v3/organizations/${busy.guid}/usage_summary`);
  expect([used.per_app_tasks, used.memory_in_mb]).toEqual([2, 400]);
  await bench.call("PATCH", `/v3/organization_quotas/${quota.guid}`, { apps: { per_app_tasks: null } });
  expect((await run(1)).status).toBe(202);
});

test("50 starts at once, over three replicas and with kubectl: exactly as many instances as the quota allows", async () => {
  const crowd = await bench.org("Crowd");
  const spaces = [await bench.space(crowd, "one"), await bench.space(crowd, "two")];
  await bench.make("/v3/organization_quotas", {
    name: "crowd",
    apps: { total_instances: 10 },
    relationships: { organizations: { data: [{ guid: crowd.guid }] } },
  });
  const { kube, replicas: two } = bench.testEnv;
  const replicas = [...two, await bench.testEnv.replica("3", {})];
  const { cache } = two[0].api;
  const namespaces = spaces.map(({ guid }) => cache.store(Space).byIndex("guid", guid)[0]?.status?.namespace ?? "");
  const apps = await Promise.all(
    Array.from({ length: 50 }, (_none, at) => makeStoppedApp(kube, namespaces[at % 2], at)),
  );
  const isOurs = ({ metadata }: { metadata: { namespace?: string } }): boolean =>
    namespaces.includes(metadata.namespace ?? "");
  await expect
    .poll(async () => (await bench.column(`/v3/apps?per_page=100&organization_guids=${crowd.guid}`, "guid")).length, {
      timeout: 60_000,
    })
    .toBe(apps.length);
  const running = (): number =>
    cache
      .store(LRP)
      .list()
      .filter(isOurs)
      .reduce((sum, { spec }) => sum + spec.instances, 0);
  let most = 0;
  cache.store(LRP).onChange(() => (most = Math.max(most, running())));

  const answers = await Promise.all(
    apps.map(async ({ metadata }, at) => {
      const path = `/v3/apps/${metadata.uid}/actions/start`;
      if (at % 5 > 1) return (await replicas[at % 3]?.call("admin", "POST", path))?.status;
      await kube.patch(App, metadata, { type: "merge", body: { spec: { state: "Started" } } });
      return 200;
    }),
  );
  expect([...new Set(answers)].filter((status) => status !== 200 && status !== 422)).toEqual([]);
  const started = answers.filter((status) => status === 200).length;
  const held = (): number =>
    cache
      .store(Process)
      .list()
      .filter(isOurs)
      .filter(({ status }) => status?.conditions?.some(({ reason }) => reason === "QuotaExceeded")).length;
  await expect.poll(() => [running(), held()], { timeout: 45_000 }).toEqual([10, started - 10]);
  expect(most).toBe(10);

  // An app that stops makes room for one that waits.
  const [lucky] = cache.store(LRP).list().filter(isOurs);
  await bench.call("POST", `/v3/apps/${lucky?.spec.app.guid}/actions/stop`);
  await expect.poll(() => [running(), held()], { timeout: 45_000 }).toEqual([10, started - 11]);
}, 120_000);

/** An app of one instance, as kubectl applies it. */
async function makeStoppedApp(kube: KubeClient, namespace: string | undefined, at: number): Promise<App> {
  const name = `crowd-${at}`;
  const metadata = { name, namespace: namespace ?? "" };
  await kube.create(Droplet, {
    metadata,
    spec: { appRef: { name }, kind: "docker", image: "example.com/hello:1", lifecycleType: "docker", processTypes: {} },
  });
  await kube.create(Process, {
    metadata: { ...metadata, name: `${name}.web` },
    spec: { appRef: { name }, type: "web", instances: 1 },
  });
  return kube.create<App>(App, { metadata, spec: { droplet: { name }, lifecycle: { type: "docker" } } });
}
