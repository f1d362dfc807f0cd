// Apps with their environment and droplets.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Process } from "../../../crds/process/process.ts";
import type { LogEntry } from "../../../telemetry/envelope.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";

let bench: ApiHarness;
let org: { guid: string };
let space: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  org = await bench.org("org");
  space = await bench.space(org, "space");
});
afterAll(() => bench.testEnv.stop());

const taken = (name: string): string => `App with the name '${name}' already exists.`;

describe("apps", () => {
  test("create, get, patch, delete", async () => {
    const app = await bench.app(space, "First", {
      metadata: { labels: { a: "1" } },
      lifecycle: { type: "buildpack", data: { buildpacks: ["nodejs"], stack: "base" } },
    });
    expect(shapeProblems("app", app)).toEqual([]);
    expect([app.state, app.lifecycle, app.relationships.current_droplet]).toEqual([
      "STOPPED",
      { type: "buildpack", data: { buildpacks: ["nodejs"], stack: "base" } },
      { data: { guid: null } },
    ]);
    expect(await bench.read(`/v3/apps/${app.guid}`)).toEqual(app);
    const patched = await bench.call("PATCH", `/v3/apps/${app.guid}`, {
      name: "Second",
      lifecycle: { type: "buildpack", data: { buildpacks: [] } },
      metadata: { labels: { a: null } },
    });
    expect([
      patched.status,
      patched.json.name,
      patched.json.lifecycle.data.buildpacks,
      patched.json.metadata.labels,
    ]).toEqual([200, "Second", [], {}]);
    expect(await bench.read(`/v3/apps/${app.guid}`)).toEqual(patched.json);
    const job = await bench.job(await bench.call("DELETE", `/v3/apps/${app.guid}`));
    expect([job.operation, job.state]).toEqual(["app.delete", "COMPLETE"]);
    expect(fault(await bench.call("GET", `/v3/apps/${app.guid}`))).toEqual([
      404,
      "CF-ResourceNotFound",
      "App not found",
    ]);
    expect(fault(await bench.call("DELETE", `/v3/apps/${app.guid}`))).toEqual([
      404,
      "CF-ResourceNotFound",
      "App not found",
    ]);
    expect(await bench.column(`/v3/apps?space_guids=${space.guid}&names=Second`, "guid")).toEqual([]);
  });

  test("variables that many clients set at once are all kept", async () => {
    const app = await bench.app(space, "shared-variables");
    const path = `/v3/apps/${app.guid}/environment_variables`;
    const names = Array.from({ length: 6 }, (_, at) => `V${at}`);
    const answers = await Promise.all(names.map((name) => bench.call("PATCH", path, { var: { [name]: "x" } })));
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
    expect(Object.keys((await bench.read(path)).var).sort()).toEqual([...names].sort());
  });

  test("names are unique in a space, not between spaces", async () => {
    const other = await bench.space(org, "other");
    const app = await bench.app(space, "twin");
    await bench.app(other, "twin");
    expect(fault(await bench.call("POST", "/v3/apps", { name: "TWIN", relationships: { space: to(space) } }))).toEqual([
      422,
      "CF-UniquenessError",
      taken("TWIN"),
    ]);
    const second = await bench.app(space, "second");
    expect(fault(await bench.call("PATCH", `/v3/apps/${second.guid}`, { name: "Twin" }))).toEqual([
      422,
      "CF-UnprocessableEntity",
      taken("Twin"),
    ]);
    expect((await bench.call("PATCH", `/v3/apps/${app.guid}`, { name: "TWIN" })).json.name).toBe("TWIN");
    expect(await bench.column("/v3/apps?names=twin&order_by=created_at", "name")).toEqual(["TWIN", "twin"]);
    expect(await bench.column(`/v3/apps?names=twin&space_guids=${other.guid}`, "name")).toEqual(["twin"]);
    expect((await bench.read(`/v3/apps?names=twin&organization_guids=${org.guid}`)).pagination.total_results).toBe(2);
  });

  test("filters and include", async () => {
    const docker = await bench.app(space, "image", { lifecycle: { type: "docker", data: {} } });
    expect(await bench.column("/v3/apps?lifecycle_type=docker", "guid")).toEqual([docker.guid]);
    expect(await bench.column(`/v3/apps?guids=${docker.guid},unknown`, "name")).toEqual(["image"]);
    const plain = await bench.app(space, "plain");
    // Without a stack of its own an app has the default one, also for the filter.
    expect(plain.lifecycle.data.stack).toBe("base");
    expect(await bench.column("/v3/apps?stacks=base&names=plain,image", "guid")).toEqual([plain.guid]);
    const { included } = await bench.read("/v3/apps?include=space.organization&names=plain");
    expect([included.spaces[0].guid, included.organizations[0].guid]).toEqual([space.guid, org.guid]);
    expect(Object.keys((await bench.read(`/v3/apps/${plain.guid}?include=space`)).included)).toEqual(["spaces"]);
    expect(fault(await bench.call("GET", "/v3/apps?lifecycle_type=nope")).slice(0, 2)).toEqual([
      400,
      "CF-BadQueryParameter",
    ]);
  });

  test.each([
    [{ name: "x" }, "Relationships"],
    [
      { name: "x", relationships: { space: to("unknown") } },
      "Invalid space. Ensure that the space exists and you have access to it.",
    ],
    [{ name: "x", bogus: 1 }, "Unknown field(s): 'bogus'"],
    [{ name: "x", lifecycle: { type: "buildpack", data: { stack: "nope" } } }, "Stack must be an existing stack"],
    [{ name: "x", lifecycle: { type: "buildpack", data: { buildpacks: ["nope"] } } }, `Buildpack "nope" for stack "`],
    [{ name: "x", lifecycle: { type: "nope", data: {} } }, "Lifecycle"],
    [{ name: "x", environment_variables: { VCAP_SERVICES: "x" } }, "cannot start with VCAP_"],
    [{ name: "x", environment_variables: { port: "1" } }, "cannot set PORT"],
  ])("%j is refused", async (body, text) => {
    const placed = Object.keys(body).length > 1 ? { relationships: { space: to(space) }, ...body } : body;
    const [status, title, detail] = fault(await bench.call("POST", "/v3/apps", placed));
    expect([status, title]).toEqual([422, "CF-UnprocessableEntity"]);
    expect(detail).toContain(text);
    // A refused app leaves nothing behind, its name is free.
    expect(await bench.column("/v3/apps?names=x", "guid")).toEqual([]);
  });

  test("the lifecycle's type stays", async () => {
    const app = await bench.app(space, "typed");
    expect(
      fault(await bench.call("PATCH", `/v3/apps/${app.guid}`, { lifecycle: { type: "docker", data: {} } })),
    ).toEqual([422, "CF-UnprocessableEntity", "Lifecycle type cannot be changed from buildpack to docker"]);
  });

  test("many apps created at once have one web process each", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        bench.call("POST", "/v3/apps", { name: `burst-${at}`, relationships: { space: to(space) } }),
      ),
    );
    expect(answers.filter(({ status }) => status !== 201).map(fault)).toEqual([]);
    for (const { json } of answers)
      expect(await bench.column(`/v3/apps/${json.guid}/processes`, "guid")).toEqual([json.guid]);
  });

  test("features, permissions, ssh", async () => {
    const app = await bench.app(space, "featured");
    const features = await bench.read(`/v3/apps/${app.guid}/features`);
    expect(features.resources.flatMap((one: object) => shapeProblems("app_feature", one))).toEqual([]);
    expect(features.resources.map((one: { name: string; enabled: boolean }) => [one.name, one.enabled])).toEqual([
      ["ssh", true],
      ["revisions", true],
      ["service-binding-k8s", false],
      ["file-based-vcap-services", false],
    ]);
    expect((await bench.call("PATCH", `/v3/apps/${app.guid}/features/ssh`, { enabled: false })).json).toMatchObject({
      name: "ssh",
      enabled: false,
    });
    expect((await bench.read(`/v3/apps/${app.guid}/features/ssh`)).enabled).toBe(false);
    expect((await bench.read(`/v3/apps/${app.guid}/features/revisions`)).enabled).toBe(true);
    const switchOf = async (name: string, enabled: boolean) =>
      await bench.call("PATCH", `/v3/apps/${app.guid}/features/${name}`, { enabled });
    expect((await switchOf("service-binding-k8s", true)).json).toMatchObject({ enabled: true });
    expect(await bench.read(`/v3/apps/${app.guid}/env`)).toMatchObject({
      system_env_json: { SERVICE_BINDING_ROOT: "/etc/cf-service-bindings" },
    });
    expect(fault(await switchOf("file-based-vcap-services", true))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "'file-based-vcap-services' and 'service-binding-k8s' features cannot be enabled at the same time.",
    ]);
    await switchOf("service-binding-k8s", false);
    await switchOf("file-based-vcap-services", true);
    expect((await bench.read(`/v3/apps/${app.guid}/env`)).system_env_json).toEqual({
      VCAP_SERVICES_FILE_PATH: "/etc/cf-service-bindings/vcap_services",
    });
    expect(fault(await bench.call("GET", `/v3/apps/${app.guid}/features/nope`))).toEqual([
      404,
      "CF-ResourceNotFound",
      "Feature not found",
    ]);
    expect(shapeProblems("app_ssh_enabled", await bench.read(`/v3/apps/${app.guid}/ssh_enabled`))).toEqual([]);
    expect(await bench.read(`/v3/apps/${app.guid}/permissions`)).toEqual({
      read_basic_data: true,
      read_sensitive_data: true,
    });
  });
});

describe("environment", () => {
  test("variables are set, merged and removed, and reach the app", async () => {
    const app = await bench.app(space, "env", { environment_variables: { A: "1", B: { deep: [1] } } });
    const path = `/v3/apps/${app.guid}/environment_variables`;
    expect(shapeProblems("app_environment_variables", await bench.read(path))).toEqual([]);
    expect((await bench.read(path)).var).toEqual({ A: "1", B: '{"deep":[1]}' });
    const patched = await bench.call("PATCH", path, { var: { A: null, C: "ü\n", "d.e-f g": "odd" } });
    expect(patched.json.var).toEqual({ B: '{"deep":[1]}', C: "ü\n", "d.e-f g": "odd" });
    expect((await bench.read(path)).var).toEqual(patched.json.var);
    const env = await bench.read(`/v3/apps/${app.guid}/env`);
    expect(shapeProblems("app_env", env)).toEqual([]);
    expect([env.environment_variables, env.application_env_json.VCAP_APPLICATION.application_name]).toEqual([
      patched.json.var,
      "env",
    ]);
  });

  test.each([
    ["VCAP_X", "1"],
    ["vmc_x", "1"],
    ["PORT", "1"],
    ["port", "1"],
    ["", "1"],
    ["OK", 5],
    ["OK", { a: 1 }],
  ])("%s = %j is refused", async (name, value) => {
    const { guid } = (await bench.read("/v3/apps?names=env")).resources[0];
    expect(
      fault(await bench.call("PATCH", `/v3/apps/${guid}/environment_variables`, { var: { [name]: value } })).slice(
        0,
        2,
      ),
    ).toEqual([422, "CF-UnprocessableEntity"]);
  });

  test("half a MiB together, and not a byte more, also in pieces", async () => {
    const app = await bench.app(space, "big-env");
    const path = `/v3/apps/${app.guid}/environment_variables`;
    const piece = "x".repeat(200 * 1024);
    expect((await bench.call("PATCH", path, { var: { A: piece } })).status).toBe(200);
    expect((await bench.call("PATCH", path, { var: { B: piece } })).status).toBe(200);
    expect(fault(await bench.call("PATCH", path, { var: { C: piece } }))[0]).toBe(422);
    expect(Object.keys((await bench.read(path)).var)).toEqual(["A", "B"]);
    expect((await bench.call("PATCH", path, { var: { A: null, C: piece } })).status).toBe(200);
  });
});

describe("droplets", () => {
  test("become current, make processes, and cannot be deleted while they are", async () => {
    const app = await bench.app(space, "run");
    const path = `/v3/apps/${app.guid}`;
    expect(fault(await bench.call("POST", `${path}/actions/start`))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "Assign a droplet before starting this app.",
    ]);
    expect(fault(await bench.call("POST", `${path}/actions/restart`))[2]).toBe(
      "Assign a droplet before starting this app.",
    );
    expect(fault(await bench.call("GET", `${path}/droplets/current`))).toEqual([
      404,
      "CF-ResourceNotFound",
      "Droplet not found",
    ]);
    const droplet = await bench.droplet(app, "run-1");
    expect(shapeProblems("droplet", droplet)).toEqual([]);
    expect(droplet.process_types).toEqual({ web: "npm start", worker: "npm run work" });
    expect((await bench.read(`${path}/droplets`)).resources[0].process_types).toEqual({
      redacted_message: "[PRIVATE DATA HIDDEN IN LISTS]",
    });
    const set = await bench.call("PATCH", `${path}/relationships/current_droplet`, to(droplet));
    expect([set.status, set.json.data]).toEqual([200, { guid: droplet.guid }]);
    expect((await bench.read(path)).relationships.current_droplet.data.guid).toBe(droplet.guid);
    expect((await bench.read(`${path}/relationships/current_droplet`)).data).toEqual({ guid: droplet.guid });
    expect((await bench.read(`${path}/droplets/current`)).guid).toBe(droplet.guid);
    const { resources } = await bench.read(`${path}/processes`);
    expect(resources.map((one: { type: string; instances: number }) => [one.type, one.instances])).toEqual([
      ["web", 1],
      ["worker", 0],
    ]);
    // Nobody has said how many, so nobody wrote it, whoever was first to make the process.
    const made = (await bench.testEnv.kube.list(Process)).items.filter(({ spec }) => spec.appRef.name === "run");
    expect(made.map(({ spec }) => [spec.type, spec.instances]).sort()).toEqual([
      ["web", undefined],
      ["worker", undefined],
    ]);
    expect((await bench.read(`${path}/processes/web`)).command).toBe("npm start");
    expect(fault(await bench.call("DELETE", `/v3/droplets/${droplet.guid}`)).slice(0, 2)).toEqual([
      422,
      "CF-UnprocessableEntity",
    ]);
    const second = await bench.droplet(app, "run-2");
    expect(await bench.column(`${path}/droplets?current=true`, "guid")).toEqual([droplet.guid]);
    expect((await bench.job(await bench.call("DELETE", `/v3/droplets/${second.guid}`))).state).toBe("COMPLETE");
    for (const [action, state] of [
      ["start", "STARTED"],
      ["start", "STARTED"],
      ["restart", "STARTED"],
      ["stop", "STOPPED"],
      ["stop", "STOPPED"],
    ]) {
      const answer = await bench.call("POST", `${path}/actions/${action}`);
      expect([answer.status, answer.json.state]).toEqual([200, state]);
      expect((await bench.read(path)).state).toBe(state);
    }
  });

  test("of another app is no droplet of this one", async () => {
    const [one, other] = [await bench.app(space, "one"), await bench.app(space, "another")];
    const droplet = await bench.droplet(other, "another-1");
    const wanted = [
      422,
      "CF-UnprocessableEntity",
      "Unable to assign current droplet. Ensure the droplet exists and belongs to this app.",
    ];
    expect(fault(await bench.call("PATCH", `/v3/apps/${one.guid}/relationships/current_droplet`, to(droplet)))).toEqual(
      wanted,
    );
    expect(
      fault(await bench.call("PATCH", `/v3/apps/${one.guid}/relationships/current_droplet`, to("unknown"))),
    ).toEqual(wanted);
    for (const data of [null, {}, { guid: null }])
      expect(fault(await bench.call("PATCH", `/v3/apps/${one.guid}/relationships/current_droplet`, { data }))).toEqual([
        422,
        "CF-UnprocessableEntity",
        "Current droplet cannot be removed. Replace it with a preferred droplet.",
      ]);
  });

  test("the API's actions are in the app's log", async () => {
    const lines: string[] = [];
    const appLog = ({ source, sourceType, message }: LogEntry) => lines.push(`${source} [${sourceType}] ${message}`);
    const replica = await bench.testEnv.replica("logging", { appLog });
    const call = async (method: string, path: string, body?: unknown) =>
      (await replica.call("admin", method, path, body)).json;
    const { guid } = await call("POST", "/v3/apps", { name: "logged", relationships: { space: to(space) } });
    await call("POST", `/v3/apps/${guid}/processes/web/actions/scale`, { instances: 2 });
    await call("PATCH", `/v3/apps/${guid}`, { name: "" });
    await call("DELETE", `/v3/apps/${guid}`);
    expect(lines.filter((line) => !line.includes("Added process"))).toEqual([
      `${guid} [API] Created app with guid ${guid}`,
      `${guid} [API] Scaling process: "web"`,
      `${guid} [API] Deleted app with guid ${guid}`,
    ]);
  });

  test("an app without a droplet has no current one to relate to", async () => {
    const { guid } = await bench.app(space, "bare");
    expect(fault(await bench.call("GET", `/v3/apps/${guid}/relationships/current_droplet`))).toEqual([
      404,
      "CF-ResourceNotFound",
      "Droplet not found",
    ]);
  });
});
