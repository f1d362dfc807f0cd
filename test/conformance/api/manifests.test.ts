// Manifests: applied, compared, generated.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requestKind } from "../../../kube/testing/request-kind.ts";
import { parse } from "yaml";
import { type ApiHarness, fault, startApiHarness } from "./harness.ts";

let bench: ApiHarness;
let space: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  space = await bench.space(await bench.org("org"), "space");
});
afterAll(() => bench.testEnv.stop());

async function apply(text: string): Promise<void> {
  const job = await bench.job(await bench.manifest(space, text));
  expect(job).toMatchObject({ operation: "space.apply_manifest", state: "COMPLETE", errors: [] });
}
async function failed(text: string): Promise<string[]> {
  const job = await bench.job(await bench.manifest(space, text));
  expect([job.operation, job.state]).toEqual(["space.apply_manifest", "FAILED"]);
  return job.errors.map(({ detail }: { detail: string }) => detail);
}
const appOf = async (name: string): ReturnType<ApiHarness["read"]> =>
  (await bench.read(`/v3/apps?space_guids=${space.guid}&names=${name}`)).resources[0];
const processOf = async (name: string, type = "web"): ReturnType<ApiHarness["read"]> =>
  bench.read(`/v3/apps/${(await appOf(name)).guid}/processes/${type}`);
const urlsOf = async (name: string): Promise<string[]> =>
  (await bench.column(`/v3/apps/${(await appOf(name)).guid}/routes`, "url")).sort();
const variablesOf = async (name: string): Promise<object> =>
  (await bench.read(`/v3/apps/${(await appOf(name)).guid}/environment_variables`)).var;

const everything = `
version: 1
applications:
- name: full
  buildpacks: [nodejs]
  stack: base
  env: { A: 1, B: "two", C: true, D: { deep: [1] } }
  features: { ssh: false }
  metadata: { labels: { team: a }, annotations: { note: x } }
  memory: 1G
  disk_quota: 512M
  instances: 2
  log-rate-limit-per-second: 16K
  command: run web
  health-check-type: http
  health-check-http-endpoint: /ok
  health-check-invocation-timeout: 3
  timeout: 70
  readiness-health-check-type: port
  routes:
  - route: full.apps.example
  - route: full.apps.example/v2
    protocol: http2
    options: { loadbalancing: least-connection }
  processes:
  - type: worker
    command: run worker
    memory: 64M
    health_check_type: process
`;

describe("apply", () => {
  test("every key takes effect, and a second apply changes nothing", async () => {
    await apply(everything);
    expect(await appOf("full")).toMatchObject({
      lifecycle: { type: "buildpack", data: { buildpacks: ["nodejs"], stack: "base" } },
      metadata: { labels: { team: "a" }, annotations: { note: "x" } },
      state: "STOPPED",
    });
    expect(await processOf("full")).toMatchObject({
      command: "run web",
      instances: 2,
      memory_in_mb: 1024,
      disk_in_mb: 512,
      log_rate_limit_in_bytes_per_second: 16384,
      health_check: { type: "http", data: { endpoint: "/ok", timeout: 70, invocation_timeout: 3 } },
      readiness_health_check: { type: "port" },
    });
    expect(await processOf("full", "worker")).toMatchObject({
      command: "run worker",
      instances: 0,
      memory_in_mb: 64,
      health_check: { type: "process" },
    });
    expect(await variablesOf("full")).toEqual({ A: "1", B: "two", C: "true", D: '{"deep":[1]}' });
    expect(await urlsOf("full")).toEqual(["full.apps.example", "full.apps.example/v2"]);
    expect((await bench.read(`/v3/apps/${(await appOf("full")).guid}/features/ssh`)).enabled).toBe(false);
    const before = JSON.stringify([await appOf("full"), await processOf("full")]);
    bench.testEnv.replicas[0].requests.length = 0;
    await apply(everything);
    const writes = bench.testEnv.replicas[0].requests.filter((request) => requestKind(request) === "write");
    expect(writes.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
    expect(JSON.stringify([await appOf("full"), await processOf("full")])).toBe(before);
  });

  test("properties that a manifest does not name stay", async () => {
    await apply("applications: [{ name: full, env: { E: e }, memory: 2048M, routes: [{ route: more.apps.example }] }]");
    expect(await variablesOf("full")).toEqual({ A: "1", B: "two", C: "true", D: '{"deep":[1]}', E: "e" });
    expect(await processOf("full")).toMatchObject({ memory_in_mb: 2048, instances: 2, command: "run web" });
    expect(await urlsOf("full")).toEqual(["full.apps.example", "full.apps.example/v2", "more.apps.example"]);
    await apply("applications: [{ name: full, command: null, processes: [{ type: web, instances: 1 }] }]");
    expect(await processOf("full")).toMatchObject({ instances: 1, command: "run web" });
    await apply("applications: [{ name: full, buildpacks: [] }]");
    expect((await appOf("full")).lifecycle.data.buildpacks).toEqual([]);
    await apply("applications: [{ name: full, command: null }]");
    expect((await processOf("full")).command).toBeNull();
  });

  test("no-route unmaps all routes; default-route and random-route apply only to apps without routes", async () => {
    await apply("applications: [{ name: full, no-route: true, routes: [{ route: never.apps.example }] }]");
    expect(await urlsOf("full")).toEqual([]);
    await apply("applications: [{ name: Dotted_App, default-route: true }]");
    expect(await urlsOf("Dotted_App")).toEqual(["Dotted-App.apps.example"]);
    await apply("applications: [{ name: Dotted_App, routes: [{ route: dotted-app.Apps.example }] }]");
    expect(await urlsOf("Dotted_App")).toEqual(["Dotted-App.apps.example"]);
    expect((await failed("applications: [{ name: a/b, default-route: true }]"))[0]).toMatch(
      /^For application 'a\/b': Failed to create default route from app name: Host must be either "\*" or contain/,
    );
    await apply("applications: [{ name: Dotted_App, random-route: true }, { name: lucky, random_route: true }]");
    expect(await urlsOf("Dotted_App")).toEqual(["Dotted-App.apps.example"]);
    expect((await urlsOf("lucky"))[0]).toMatch(/^lucky-[a-z]+-[a-z]+-[a-z0-9]{2}\.apps\.example$/);
  });

  test("docker, several apps, units, sizes of processes", async () => {
    await apply(
      `applications:\n- name: image\n  docker: { image: "x/y" }\n- name: units\n  memory: 1.TB\n`.replace("1.TB", "1t"),
    );
    expect((await appOf("image")).lifecycle).toEqual({ type: "docker", data: {} });
    expect((await processOf("units")).memory_in_mb).toBe(1024 * 1024);
    await apply("applications: [{ name: units, memory: 100000KB, log-rate-limit-per-second: -1 }]");
    expect(await processOf("units")).toMatchObject({ memory_in_mb: 97, log_rate_limit_in_bytes_per_second: -1 });
  });

  test.each([
    [
      "applications: [{ name: bad, memory: 5 }]",
      [`For application 'bad': Process "web": Memory must use a supported unit: B, K, KB, M, MB, G, GB, T, or TB`],
    ],
    [
      "applications: [{ name: bad, memory: 1B }]",
      [`For application 'bad': Process "web": Memory must be greater than 0MB`],
    ],
    ["applications: [{ memory: 1G }]", ["For application at index 0: Name must not be empty"]],
    [
      "applications: [{ name: bad, instances: -1, memory: 2Q, disk_quota: x }]",
      [
        `For application 'bad': Process "web": Instances must be greater than or equal to 0`,
        `For application 'bad': Process "web": Memory must use a supported unit: B, K, KB, M, MB, G, GB, T, or TB`,
        `For application 'bad': Process "web": Disk quota is not a number`,
      ],
    ],
    [
      "applications: [{ name: bad, docker: { image: x }, buildpacks: [nodejs] }]",
      ["For application 'bad': Cannot specify both buildpack(s) and docker keys"],
    ],
    [
      "applications: [{ name: bad, processes: [{ type: a }, { type: a }] }]",
      [`For application 'bad': Process "a" may only be present once`],
    ],
    [
      "applications: [{ name: bad, random-route: true, default-route: true }]",
      ["For application 'bad': Random-route and default-route may not be used together"],
    ],
    ["applications: [{ name: bad, env: { VCAP_X: 1 } }]", ["For application 'bad': Env cannot start with VCAP_"]],
    [
      "applications: [{ name: bad, routes: [{ route: 'a b' }] }]",
      ["For application 'bad': The route 'a b' is not a properly formed URL"],
    ],
    [
      "applications: [{ name: bad, health-check-type: port, health-check-http-endpoint: /x }]",
      [`For application 'bad': Process "web": Health check type must be "http" to set a health check HTTP endpoint`],
    ],
    [
      "applications: [{ name: bad, services: db }, { name: worse, timeout: 0 }]",
      [
        "For application 'bad': Services must be a list of service instances",
        `For application 'worse': Process "web": Timeout must be greater than or equal to 1`,
      ],
    ],
    [
      "applications: [{ name: bad, buildpacks: [wut] }]",
      [`For application 'bad': Specified unknown buildpack name: "wut"`],
    ],
    ["applications: [{ name: bad, stack: nope }]", ["For application 'bad': Stack must be an existing stack"]],
  ])("%s is refused, and nothing is made", async (text, details) => {
    const answer = await bench.manifest(space, text);
    expect([answer.status, answer.json.errors.map(({ detail }: { detail: string }) => detail)]).toEqual([422, details]);
    expect(await bench.column("/v3/apps?names=bad,worse", "name")).toEqual([]);
  });

  test("a late failure is the job's error, and earlier changes stay", async () => {
    expect(
      await failed("applications: [{ name: first }, { name: lost, memory: 64M, routes: [{ route: a.nowhere.test }] }]"),
    ).toEqual(["For application 'lost': No domains exist for route a.nowhere.test"]);
    expect((await processOf("lost")).memory_in_mb).toBe(64);
    expect(await failed("applications: [{ name: lost, routes: [{ route: apps.example }] }]")).toEqual([
      "For application 'lost': For route 'apps.example': Missing host. Routes in shared domains must have a host defined.",
    ]);
    expect(await failed("applications: [{ name: lost, routes: [{ route: 'x.apps.example:1024' }] }]")).toHaveLength(1);
    const other = await bench.space(await bench.org("other"), "s");
    await bench.make("/v3/routes", {
      host: "theirs",
      relationships: {
        space: { data: { guid: other.guid } },
        domain: { data: { guid: (await bench.read("/v3/domains")).resources[0].guid } },
      },
    });
    expect(await failed("applications: [{ name: lost, routes: [{ route: theirs.apps.example }] }]")).toEqual([
      "For application 'lost': Routes cannot be mapped to destinations in different spaces",
    ]);
    expect((await failed("applications: [{ name: lost, routes: [{ route: theirs.apps.example/deep }] }]"))[0]).toMatch(
      /^For application 'lost': For route 'theirs.apps.example\/deep': Route already exists/,
    );
  });

  test("envelopes: versions, types, spaces", async () => {
    expect((await bench.manifest(space, "version: 2\napplications: [{ name: x }]")).status).toBe(422);
    expect((await bench.manifest(space, "applications: []")).status).toBe(422);
    expect(fault(await bench.manifest({ guid: "unknown" } as never, "applications: [{ name: x }]"))).toEqual([
      404,
      "CF-ResourceNotFound",
      "Space not found",
    ]);
    expect(
      fault(
        await bench.call("POST", `/v3/spaces/${space.guid}/actions/apply_manifest`, { applications: [{ name: "x" }] }),
      ).slice(0, 2),
    ).toEqual([400, "CF-BadRequest"]);
  });

  test("an app of the other kind keeps its kind", async () => {
    expect(fault(await bench.manifest(space, "applications: [{ name: image, buildpacks: [nodejs] }]"))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "For application 'image': Buildpacks cannot be configured for a docker lifecycle app.",
    ]);
  });

  test("ten apps at once from several requests", async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        bench.manifest(
          space,
          `applications: [{ name: many-${at}, memory: 32M, env: { A: "${at}" }, default-route: true }]`,
        ),
      ),
    );
    for (const answer of answers) expect(await bench.job(answer)).toMatchObject({ state: "COMPLETE", errors: [] });
    expect(
      await bench.column(
        "/v3/apps?names=many-0,many-1,many-2,many-3,many-4,many-5,many-6,many-7,many-8,many-9",
        "name",
      ),
    ).toHaveLength(10);
    expect(await processOf("many-7")).toMatchObject({ memory_in_mb: 32 });
  });
});

const generated = async (name: string): Promise<{ text: string; application: Record<string, unknown> }> => {
  const answer = await bench.call("GET", `/v3/apps/${(await appOf(name)).guid}/manifest`);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/x-yaml"]);
  return {
    text: answer.text,
    application: (parse(answer.text) as { applications: Record<string, unknown>[] }).applications[0] ?? {},
  };
};

test("the generated manifest describes the app, and applying it changes nothing", async () => {
  await apply(everything.replace("name: full", "name: gen").replaceAll("full.apps", "gen.apps"));
  const { text, application } = await generated("gen");
  expect(application).toMatchObject({
    name: "gen",
    buildpacks: ["nodejs"],
    stack: "base",
    env: { A: "1", B: "two", C: "true", D: '{"deep":[1]}' },
    features: { ssh: false, revisions: true, "service-binding-k8s": false, "file-based-vcap-services": false },
    metadata: { labels: { team: "a" }, annotations: { note: "x" } },
    routes: [
      { route: "gen.apps.example", protocol: "http1" },
      { route: "gen.apps.example/v2", protocol: "http2", options: { loadbalancing: "least-connection" } },
    ],
    processes: [
      {
        type: "web",
        instances: 2,
        memory: "1024M",
        disk_quota: "512M",
        "log-rate-limit-per-second": "16K",
        command: "run web",
        "health-check-type": "http",
        "health-check-http-endpoint": "/ok",
        "health-check-invocation-timeout": 3,
        timeout: 70,
        "readiness-health-check-type": "port",
      },
      { type: "worker", instances: 0, memory: "64M" },
    ],
  });
  expect((await bench.manifest(space, text, "manifest_diff")).json).toEqual({ diff: [] });
  bench.testEnv.replicas[0].requests.length = 0;
  await apply(text);
  expect(
    bench.testEnv.replicas[0].requests
      .filter((request) => requestKind(request) === "write")
      .map(({ method, path }) => `${method} ${path}`),
  ).toEqual([]);
});

describe("diff", () => {
  const diff = async (text: string): Promise<object[]> => {
    const answer = await bench.manifest(space, text, "manifest_diff");
    expect([answer.status, answer.json.errors]).toEqual([201, undefined]);
    return answer.json.diff;
  };
  beforeAll(() =>
    apply(
      "applications: [{ name: base, memory: 256M, env: { A: 1 }, log-rate-limit-per-second: 1K, routes: [{ route: base.apps.example }], processes: [{ type: worker, command: w }] }]",
    ),
  );

  test.each([
    ["memory: 0.25G", []],
    ["memory: 2 G", undefined],
    ["memory: 262144K", []],
    ["memory: 1G", [{ op: "replace", path: "/applications/0/memory", was: "256M", value: "1024M" }]],
    ["log_rate_limit_per_second: 1024B", []],
    [
      "log-rate-limit-per-second: 2K",
      [{ op: "replace", path: "/applications/0/log-rate-limit-per-second", was: "1K", value: "2K" }],
    ],
    ["env: { A: 1 }", []],
    [
      "env: { A: 2, B: x }",
      [
        { op: "replace", path: "/applications/0/env/A", was: "1", value: 2 },
        { op: "add", path: "/applications/0/env/B", value: "x" },
      ],
    ],
    [
      "routes: [{ route: base.apps.example }, { route: new.apps.example }]",
      [{ op: "add", path: "/applications/0/routes/1", value: { route: "new.apps.example" } }],
    ],
    [
      "processes: [{ type: worker, command: x }, { type: cron }]",
      [
        { op: "replace", path: "/applications/0/processes/0/command", was: "w", value: "x" },
        { op: "add", path: "/applications/0/processes/1", value: { type: "cron" } },
      ],
    ],
    ["command: c", [{ op: "add", path: "/applications/0/command", value: "c" }]],
    ["readiness-health-check-type: process", []],
    ["random-route: true", []],
  ])("%s", async (line, expected) => {
    const text = `applications: [{ name: base, ${line} }]`;
    if (expected) expect(await diff(text)).toEqual(expected);
    else expect((await bench.manifest(space, text, "manifest_diff")).status).toBe(422);
  });

  test("of an app that is not there yet everything is added; nothing is written", async () => {
    expect(await diff("applications: [{ name: absent, memory: 1G }]")).toEqual([
      { op: "add", path: "/applications/0/name", value: "absent" },
      { op: "add", path: "/applications/0/memory", value: "1G" },
    ]);
    expect(await bench.column("/v3/apps?names=absent", "guid")).toEqual([]);
  });
});
