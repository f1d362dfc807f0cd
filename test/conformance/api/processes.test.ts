// Processes: what they are, scaling, health checks, instances.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { LABELS } from "../../../crds/labels.ts";
import { Process } from "../../../crds/process/process.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";

let bench: ApiHarness;
let space: { guid: string };
let app: { guid: string };
const path = (rest = ""): string => `/v3/apps/${app.guid}/processes/web${rest}`;
beforeAll(async () => {
  bench = await startApiHarness();
  space = await bench.space(await bench.org("org"), "space");
  app = await bench.app(space, "app");
});
afterAll(() => bench.testEnv.stop());

test("the web process has its app's GUID at every endpoint", async () => {
  const web = await bench.read(path());
  expect(shapeProblems("process", web)).toEqual([]);
  expect(web).toMatchObject({
    guid: app.guid,
    type: "web",
    command: null,
    user: "vcap",
    instances: 1,
    memory_in_mb: 1024,
    disk_in_mb: 1024,
    health_check: { type: "port", data: { timeout: null, invocation_timeout: null, interval: null } },
    readiness_health_check: { type: "process", data: { invocation_timeout: null, interval: null } },
  });
  expect(web.relationships).toEqual({ app: to(app), revision: null });
  expect(await bench.read(`/v3/processes/${app.guid}`)).toEqual(web);
  for (const query of [`guids=${app.guid}`, `app_guids=${app.guid}&types=web`, `space_guids=${space.guid}`])
    expect([query, await bench.column(`/v3/processes?${query}`, "guid")]).toEqual([query, [app.guid]]);
  const [listed] = (await bench.read(`/v3/apps/${app.guid}/processes`)).resources;
  expect(listed).toEqual({ ...web, command: "[PRIVATE DATA HIDDEN IN LISTS]" });
  expect(fault(await bench.call("GET", `/v3/apps/${app.guid}/processes/nope`))).toEqual([
    404,
    "CF-ResourceNotFound",
    "Process not found",
  ]);
  expect((await bench.read(`${path()}?embed=process_instances`)).process_instances).toMatchObject([
    { index: 0, state: "DOWN" },
  ]);
  expect((await bench.call("GET", `${path()}?embed=nope`)).status).toBe(400);
});

test("a younger process with an app's GUID is not the app's web process", async () => {
  // Ages are in whole seconds.
  await delay(1100);
  const { namespace } =
    (await bench.testEnv.kube.list(App)).items.find((one) => one.spec.name === "app")?.metadata ?? {};
  const made = await bench.testEnv.kube.create(Process, {
    metadata: { namespace, name: "posing.worker", labels: { [LABELS.guid]: app.guid } },
    spec: { appRef: { name: "posing" }, type: "worker" },
  });
  const uid = made.metadata.uid ?? "";
  await vi.waitFor(async () => expect((await bench.read(`/v3/processes/${uid}`)).type).toBe("worker"), {
    timeout: 5000,
    interval: 20,
  });
  expect(await bench.read(`/v3/processes/${app.guid}`)).toMatchObject({ guid: app.guid, type: "web" });
  expect(await bench.column(`/v3/processes?guids=${app.guid},${uid}`, "guid")).toEqual([app.guid, uid]);
  await bench.testEnv.kube.delete(Process, made.metadata);
});

describe("scale", () => {
  test("only the given fields change; the reply is 202 with the process", async () => {
    const scaled = await bench.call("POST", path("/actions/scale"), {
      instances: 3,
      memory_in_mb: 256,
      disk_in_mb: 512,
      log_rate_limit_in_bytes_per_second: 2048,
    });
    expect([scaled.status, scaled.headers.get("location"), shapeProblems("process", scaled.json)]).toEqual([
      202,
      null,
      [],
    ]);
    expect(scaled.json).toMatchObject({
      instances: 3,
      memory_in_mb: 256,
      disk_in_mb: 512,
      log_rate_limit_in_bytes_per_second: 2048,
    });
    expect((await bench.call("POST", `/v3/processes/${app.guid}/actions/scale`, { instances: 0 })).json).toMatchObject({
      instances: 0,
      memory_in_mb: 256,
    });
    expect((await bench.call("POST", path("/actions/scale"), {})).json).toMatchObject({
      instances: 0,
      memory_in_mb: 256,
    });
    expect(
      (await bench.call("POST", path("/actions/scale"), { log_rate_limit_in_bytes_per_second: -1 })).json
        .log_rate_limit_in_bytes_per_second,
    ).toBe(-1);
    expect((await bench.read(path())).memory_in_mb).toBe(256);
  });

  test.each([
    [{ instances: -1 }, "Instances must be greater than or equal to 0"],
    [{ instances: 1.5 }, "Instances must be an integer"],
    [{ instances: "2" }, "Instances"],
    [{ instances: 10_001 }, "Instances must be less than or equal to 10000"],
    [{ memory_in_mb: 0 }, "Memory in mb must be greater than 0"],
    [{ disk_in_mb: -5 }, "Disk in mb must be greater than 0"],
    [{ memory_in_mb: 2 ** 40 }, "Memory in mb must be less than or equal to"],
    [
      { log_rate_limit_in_bytes_per_second: -2 },
      "Log rate limit in bytes per second must be greater than or equal to -1",
    ],
    [{ bogus: 1 }, "Unknown field(s): 'bogus'"],
  ])("%j is refused", async (body, text) => {
    const [status, title, detail] = fault(await bench.call("POST", path("/actions/scale"), body));
    expect([status, title]).toEqual([422, "CF-UnprocessableEntity"]);
    expect(detail).toContain(text);
  });
});

describe("update", () => {
  const patch = async (body: object): ReturnType<ApiHarness["read"]> => {
    const answer = await bench.call("PATCH", path(), body);
    expect([answer.status, answer.json.errors]).toEqual([200, undefined]);
    expect(await bench.read(path())).toEqual(answer.json);
    return answer.json;
  };

  test("command and user: set, and null takes away", async () => {
    expect(await patch({ command: "run --now", user: "vcap" })).toMatchObject({ command: "run --now", user: "vcap" });
    expect(await patch({ metadata: { labels: { a: "b" } } })).toMatchObject({
      command: "run --now",
      metadata: { labels: { a: "b" } },
    });
    expect(await patch({ command: null, user: null })).toMatchObject({ command: null, user: "vcap" });
    const droplet = await bench.droplet(app, "d");
    await bench.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, to(droplet));
    expect((await bench.read(path())).command).toBe("npm start");
  });

  test("right after a start it has the revision that starts", async () => {
    const { guid } = await bench.app(space, "started");
    await bench.call("PATCH", `/v3/apps/${guid}/relationships/current_droplet`, to(await bench.droplet({ guid }, "s")));
    expect((await bench.call("POST", `/v3/apps/${guid}/actions/start`)).status).toBe(200);
    const { relationships } = await bench.read(`/v3/apps/${guid}/processes/web`);
    expect(relationships.revision?.data.guid).toEqual(expect.any(String));
  });

  test("health checks: values merge, null resets one, leaving http loses the endpoint", async () => {
    expect(
      (await patch({ health_check: { type: "http", data: { endpoint: "/ok", timeout: 90, interval: 5 } } }))
        .health_check,
    ).toEqual({ type: "http", data: { timeout: 90, invocation_timeout: null, interval: 5, endpoint: "/ok" } });
    expect((await patch({ health_check: { data: { timeout: null, invocation_timeout: 2 } } })).health_check).toEqual({
      type: "http",
      data: { timeout: null, invocation_timeout: 2, interval: 5, endpoint: "/ok" },
    });
    expect((await patch({ health_check: { type: "port" } })).health_check).toEqual({
      type: "port",
      data: { timeout: null, invocation_timeout: 2, interval: 5 },
    });
    expect((await patch({ health_check: { type: "http" } })).health_check.data.endpoint).toBe("/");
    expect(
      (await patch({ readiness_health_check: { type: "http", data: { endpoint: "/ready" } } })).readiness_health_check,
    ).toEqual({ type: "http", data: { invocation_timeout: null, interval: null, endpoint: "/ready" } });
    expect((await patch({ readiness_health_check: { type: "process" } })).readiness_health_check).toEqual({
      type: "process",
      data: { invocation_timeout: null, interval: null },
    });
  });

  test.each([
    [{ health_check: { type: "nope" } }],
    [{ health_check: { data: { timeout: 0 } } }],
    [{ health_check: { data: { timeout: 181 } } }],
    [{ health_check: { type: "http", data: { endpoint: "no slash" } } }],
    [{ readiness_health_check: { data: { timeout: 5 } } }],
    [{ command: "" }],
    [{ command: "x".repeat(4097) }],
    [{ instances: 4 }],
  ])("%j is refused", async (body) => {
    expect(fault(await bench.call("PATCH", path(), body)).slice(0, 2)).toEqual([422, "CF-UnprocessableEntity"]);
  });
});

test("while the flag app_scaling is off, only admins scale, also to the size that it has", async () => {
  const user = { user: { data: { guid: "carl" } } };
  const [{ relationships }] = (await bench.read(`/v3/spaces?guids=${space.guid}`)).resources;
  const inOrg = { ...user, organization: relationships.organization };
  await bench.make("/v3/roles", { type: "organization_user", relationships: inOrg });
  await bench.make("/v3/roles", { type: "space_developer", relationships: { ...user, space: to(space) } });
  await bench.call("PATCH", "/v3/feature_flags/app_scaling", { enabled: false });
  const { instances } = await bench.read(path());
  expect(fault(await bench.call("POST", path("/actions/scale"), { instances }, "carl"))).toEqual([
    403,
    "CF-FeatureDisabled",
    "Feature Disabled: app_scaling",
  ]);
  expect((await bench.call("POST", path("/actions/scale"), { instances })).status).toBe(202);
  await bench.call("PATCH", "/v3/feature_flags/app_scaling", { enabled: true });
});

test("instances of a stopped app are down; only those that are wanted can be restarted", async () => {
  await bench.call("POST", path("/actions/scale"), { instances: 2 });
  const { resources } = await bench.read(path("/stats"));
  expect(resources.map((one: object) => Object.keys(one).sort())).toEqual(
    Array.from({ length: 2 }, () => ["details", "index", "isolation_segment", "routable", "state", "type", "uptime"]),
  );
  expect(resources[1]).toMatchObject({
    type: "web",
    index: 1,
    state: "DOWN",
    routable: false,
    isolation_segment: null,
    details: null,
  });
  expect((await bench.read(path("/process_instances"))).resources).toMatchObject([{ index: 0 }, { index: 1 }]);
  expect((await bench.call("DELETE", path("/instances/1"))).status).toBe(204);
  for (const index of ["2", "-1", "x", "1e3"])
    expect(fault(await bench.call("DELETE", path(`/instances/${index}`)))).toEqual([
      404,
      "CF-ResourceNotFound",
      "Instance not found",
    ]);
});

describe("a detached app", () => {
  let own: { guid: string };
  const detach = async (detached: true | null): Promise<void> => {
    const name = "own.web";
    const found = (await bench.testEnv.kube.list(Process)).items.find(({ metadata }) => metadata.name === name);
    if (!found) throw new Error(`there is no process ${name}`);
    await bench.testEnv.kube.patch(Process, found.metadata, { type: "merge", body: { spec: { detached } } });
  };

  beforeAll(async () => {
    own = await bench.app(space, "own");
    await detach(true);
  });

  test.each<[string, () => [method: string, path: string, body?: object]]>([
    ["stop", () => ["POST", `/v3/apps/${own.guid}/actions/stop`]],
    ["start", () => ["POST", `/v3/apps/${own.guid}/actions/start`]],
    ["restart", () => ["POST", `/v3/apps/${own.guid}/actions/restart`]],
    ["scale", () => ["POST", `/v3/processes/${own.guid}/actions/scale`, { instances: 2 }]],
    ["restart of an instance", () => ["DELETE", `/v3/processes/${own.guid}/instances/0`]],
    ["deployment", () => ["POST", "/v3/deployments", { relationships: { app: to(own) } }]],
  ])("%s is refused with the next step", async (_what, request) => {
    const [method, url, body] = request();
    const sentence = /^App 'own' is detached: .*cup attach own$/;
    await vi.waitFor(
      async () =>
        expect(fault(await bench.call(method, url, body))).toEqual([
          422,
          "CF-UnprocessableEntity",
          expect.stringMatching(sentence),
        ]),
      { timeout: 5000, interval: 50 },
    );
  });

  test("is scaled again once it is attached, and can be deleted before", async () => {
    await detach(null);
    await vi.waitFor(
      async () =>
        expect((await bench.call("POST", `/v3/processes/${own.guid}/actions/scale`, { instances: 2 })).status).toBe(
          202,
        ),
      { timeout: 5000, interval: 50 },
    );
    await detach(true);
    expect((await bench.call("DELETE", `/v3/apps/${own.guid}`)).status).toBe(202);
  });
});
