// Each endpoint takes the permission that it declares: people without that right change nothing and see nothing, whichever endpoint they try.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Answer, type ApiTestEnv, type TestUser, startApiTestEnv } from "./test-env.ts";

interface Row {
  method: string;
  path: string;
  permission: string[];
  media: string | undefined;
}

let world: ApiTestEnv;
let rows: Row[] = [];
const real: Record<string, string> = {};

beforeAll(async () => {
  world = await startApiTestEnv();
  // Off by default; while it is, whoever asks hears only that.
  await call("admin", "PATCH", "/v3/feature_flags/route_sharing", { enabled: true });
  const { json } = await call(undefined, "GET", "/v3/openapi.json");
  for (const [path, methods] of Object.entries(
    json.paths as Record<string, Record<string, { "x-permission": string[]; requestBody?: { content: object } }>>,
  )) {
    for (const [method, operation] of Object.entries(methods))
      rows.push({
        method: method.toUpperCase(),
        path,
        permission: operation["x-permission"],
        media: Object.keys(operation.requestBody?.content ?? {})[0],
      });
  }
  rows = rows.filter((row) => row.path.startsWith("/v3") || row.path.startsWith("/api"));
  await furnish();
});
afterAll(() => world.stop());

const call = (person: TestUser | undefined, method: string, path: string, body?: unknown): Promise<Answer> =>
  world.replicas[0].call(person, method, path, body);
const to = (guid: string): object => ({ data: { guid } });

async function furnish(): Promise<void> {
  const make = async (path: string, body: unknown): Promise<string> => {
    const answer = await call("admin", "POST", path, body);
    expect([answer.status, answer.json.errors]).toEqual([201, undefined]);
    return answer.json.guid;
  };
  const org = (real["organizations"] = await make("/v3/organizations", { name: "org" }));
  const space = (real["spaces"] = await make("/v3/spaces", {
    name: "space",
    relationships: { organization: to(org) },
  }));
  const app = (real["apps"] = await make("/v3/apps", {
    name: "app",
    environment_variables: { SECRET: "hunter2" },
    relationships: { space: to(space) },
  }));
  real["processes"] = (await call("admin", "GET", `/v3/apps/${app}/processes`)).json.resources[0].guid;
  real["packages"] = await make("/v3/packages", { type: "bits", relationships: { app: to(app) } });
  real["domains"] = await make("/v3/domains", { name: "org.example", relationships: { organization: to(org) } });
  real["routes"] = await make("/v3/routes", {
    host: "x",
    relationships: { space: to(space), domain: to(real["domains"]) },
  });
  real["destinations"] = (
    await call("admin", "POST", `/v3/routes/${real["routes"]}/destinations`, { destinations: [{ app: { guid: app } }] })
  ).json.destinations[0].guid;
  real["roles"] = await make("/v3/roles", {
    type: "organization_user",
    relationships: { user: { data: { username: "carl" } }, organization: to(org) },
  });
  await make("/v3/roles", {
    type: "space_auditor",
    relationships: { user: { data: { username: "carl" } }, space: to(space) },
  });
  await vi.waitFor(async () => expect((await call("carl", "GET", `/v3/spaces/${space}`)).status).toBe(200), {
    timeout: 5000,
    interval: 25,
  });
}

/** Bodies that an admin could send. */
function bodyFor(row: Row): unknown {
  const { organizations = "", spaces = "", apps = "", packages = "", domains = "" } = real;
  const bodies: Record<string, unknown> = {
    "POST /v3/organizations": { name: "new" },
    "POST /v3/spaces": { name: "new", relationships: { organization: to(organizations) } },
    "POST /v3/roles": {
      type: "space_developer",
      relationships: { user: { data: { username: "bob" } }, space: to(spaces) },
    },
    "POST /v3/domains": { name: "new.example" },
    "POST /v3/routes": { host: "new", relationships: { space: to(spaces), domain: to(domains) } },
    "POST /v3/apps": { name: "new", relationships: { space: to(spaces) } },
    "POST /v3/packages": { type: "bits", relationships: { app: to(apps) } },
    "POST /v3/builds": { package: { guid: packages } },
    "POST /v3/routes/{guid}/destinations": { destinations: [{ app: { guid: apps } }] },
    "POST /v3/domains/{guid}/relationships/shared_organizations": { data: [{ guid: organizations }] },
    "POST /v3/routes/{guid}/relationships/shared_spaces": { data: [{ guid: spaces }] },
    "PATCH /v3/routes/{guid}/relationships/space": to(spaces),
    "PATCH /v3/routes/{guid}/destinations": { destinations: [] },
    "PATCH /v3/routes/{guid}/destinations/{destination}": { protocol: "http2" },
    "PATCH /v3/apps/{guid}/environment_variables": { var: { A: "b" } },
    "PATCH /v3/apps/{guid}/relationships/current_droplet": to(apps),
    "PATCH /v3/organizations/{guid}/relationships/default_isolation_segment": { data: null },
    "PATCH /v3/spaces/{guid}/relationships/isolation_segment": { data: null },
    "PATCH /v3/apps/{guid}/features/{name}": { enabled: false },
    "PATCH /v3/spaces/{guid}/features/{name}": { enabled: false },
    "POST /v3/processes/{guid}/actions/scale": { instances: 2 },
    "POST /v3/apps/{guid}/processes/{type}/actions/scale": { instances: 2 },
    "POST /v3/apps/{guid}/tasks": { command: "ls" },
    "POST /v3/apps/{guid}/sidecars": { name: "new", command: "run", process_types: ["web"] },
    "POST /v3/spaces/{guid}/actions/apply_manifest": "applications: [{name: new}]",
    "POST /v3/spaces/{guid}/manifest_diff": "applications: [{name: new}]",
  };
  return bodies[`${row.method} ${row.path}`] ?? (row.media ? { metadata: { labels: { a: "b" } } } : undefined);
}

const names: Record<string, string> = { type: "web", name: "ssh", index: "0", feature: "ssh" };

function fill(row: Row): string {
  const path = row.path.replace(
    /([^/]+)\/\{(\w+)\}/g,
    (_all, before: string, name: string) => `${before}/${names[name] ?? real[before] ?? real["apps"]}`,
  );
  return row.path === "/api/v1/read/{source}"
    ? `/api/v1/read/${real["apps"]}`
    : path.endsWith("/routes") && row.method === "DELETE"
      ? `${path}?unmapped=true`
      : path;
}

async function attempt(person: TestUser, row: Row): Promise<Answer> {
  const headers = { authorization: `bearer ${person}-token`, ...(row.media && { "content-type": row.media }) };
  return world.replicas[0].send(row.method, fill(row), { body: bodyFor(row), headers });
}

/** Everything of the tenant's, as Kubernetes has it. */
async function snapshot(): Promise<string> {
  const kinds = ["orgs", "spaces", "apps", "processes", "packages", "builds", "droplets", "routes", "domains"];
  const lists = await Promise.all(
    kinds.map(
      (kind) =>
        world.kube.raw("GET", `/apis/cupola.dev/v1alpha1/${kind}`) as Promise<{
          items: { metadata: { uid: string }; spec: unknown }[];
        }>,
    ),
  );
  return JSON.stringify(lists.map((list) => list.items.map(({ metadata, spec }) => [metadata.uid, spec]).sort()));
}

const byObject = (row: Row): boolean => row.path.includes("{") && row.permission.some((right) => right.includes(" "));

test("somebody without a role: every object is not found, and nothing changes", async () => {
  const before = await snapshot();
  const own = rows.filter((row) => byObject(row) && real[row.path.split("/")[2] ?? ""] !== undefined);
  expect(own.length).toBeGreaterThan(30);
  const answers = await Promise.all(
    own.map(async (row) => [row.method, row.path, (await attempt("bob", row)).status] as const),
  );
  expect(answers.filter(([, , status]) => status !== 404)).toEqual([]);
  const creates = rows.filter(
    (row) =>
      row.method === "POST" && !row.path.includes("{") && row.permission.some((right) => right.startsWith("create")),
  );
  expect(creates.length).toBeGreaterThan(6);
  const refused = await Promise.all(
    creates.map(async (row) => [row.path, (await attempt("bob", row)).status] as const),
  );
  expect(refused.filter(([, status]) => status !== 403 && status !== 422)).toEqual([]);
  expect(await snapshot()).toBe(before);
});

/** Kinds that even a reader of the space may not read. */
const secret = ["get apps/env", "get apps/secrets", "get packages/content"];

test("a space auditor reads the space and changes nothing in it", async () => {
  const before = await snapshot();
  const inSpace = rows.filter(
    (row) => byObject(row) && ["apps", "processes", "packages", "routes"].includes(row.path.split("/")[2] ?? ""),
  );
  const wrong: unknown[] = [];
  for (const row of inSpace) {
    const { status, json } = await attempt("carl", row);
    const reads = row.permission.every(
      (right) => right.startsWith("get ") && !secret.includes(right.replace(" in cupola.dev", "")),
    );
    if (reads ? status >= 500 || status === 403 : status !== 403)
      wrong.push([row.method, row.path, row.permission, status, JSON.stringify(json).slice(0, 200)]);
    if (!reads) expect(JSON.stringify(json)).not.toContain("hunter2");
  }
  expect(wrong).toEqual([]);
  expect(await snapshot()).toBe(before);
});

test("the API's verdict on a delete equals that of kubectl's dry run", async () => {
  for (const person of ["admin", "carl", "bob"] as const) {
    const dryRun = await world
      .as(person)
      .raw("DELETE", `/apis/cupola.dev/v1alpha1/namespaces/${await namespaceOf()}/apps/app?dryRun=All`)
      .then(
        () => true,
        () => false,
      );
    expect([person, dryRun]).toEqual([person, person === "admin"]);
  }
});

test("a cold write by review asks of its own endpoint's permissions alone", async () => {
  const replica = await world.replica("review", { authorization: "review" });
  replica.requests.length = 0;
  expect((await replica.call("carl", "PATCH", `/v3/apps/${real["apps"]}`, { name: "other" })).status).toBe(403);
  const reviews = replica.requests.filter((one) => one.path.includes("subjectaccessreviews"));
  expect(reviews.length).toBeGreaterThan(0);
  // 129: everywhere, and in the namespaces of the system, the org and the space. Those of all endpoints would be four times as many.
  expect(reviews.length).toBeLessThan(150);
});

// The last test: it leaves little of what it tried.
test("no endpoint asks a permission that its row does not declare", async () => {
  const ordered = rows.toSorted((one, other) => Number(one.method === "DELETE") - Number(other.method === "DELETE"));
  let undeclared = "";
  for (const row of ordered)
    await attempt("admin", row).catch((error: unknown) => {
      if (/its row must declare it/.test(String(error))) undeclared = String(error);
    });
  expect(undeclared).toBe("");
});

async function namespaceOf(): Promise<string> {
  const { items } = (await world.kube.raw("GET", "/apis/cupola.dev/v1alpha1/apps")) as {
    items: { metadata: { namespace: string } }[];
  };
  return items[0]?.metadata.namespace ?? "";
}
