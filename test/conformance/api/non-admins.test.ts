// The platform for people who are no admins: suspended orgs, what a manager and a developer may do, and objects that kubectl made.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Org } from "../../../crds/org/org.ts";
import { Process } from "../../../crds/process/process.ts";
import { Route } from "../../../crds/route/route.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import type { TestUser } from "./test-env.ts";

let bench: ApiHarness;
let org: { guid: string };
let space: { guid: string };
const give = (type: string, person: TestUser, place: object): ReturnType<ApiHarness["call"]> =>
  bench.call("POST", "/v3/roles", { type, relationships: { user: { data: { guid: person } }, ...place } });

beforeAll(async () => {
  bench = await startApiHarness();
  org = await bench.org("org");
  space = await bench.space(org, "space");
  for (const person of ["ann", "bob"] as const)
    expect((await give("organization_user", person, { organization: to(org) })).status).toBe(201);
  expect((await give("organization_manager", "ann", { organization: to(org) })).status).toBe(201);
  expect((await give("space_developer", "bob", { space: to(space) })).status).toBe(201);
  await vi.waitFor(
    async () => expect((await bench.call("GET", `/v3/spaces/${space.guid}`, undefined, "bob")).status).toBe(200),
    { timeout: 5000, interval: 20 },
  );
});
afterAll(() => bench.testEnv.stop());

describe("a developer", () => {
  test("pushes, maps, scales and deletes in the space", async () => {
    const as = (method: string, path: string, body?: unknown) => bench.call(method, path, body, "bob");
    const made = await as("POST", "/v3/apps", {
      name: "mine",
      environment_variables: { A: "1" },
      relationships: { space: to(space) },
    });
    expect([made.status, made.json.errors]).toEqual([201, undefined]);
    const { guid } = made.json;
    const [domain] = (await as("GET", "/v3/domains")).json.resources;
    const route = await as("POST", "/v3/routes", {
      host: "mine",
      relationships: { space: to(space), domain: to(domain) },
    });
    expect(route.status).toBe(201);
    const outcomes = [
      await as("PATCH", `/v3/apps/${guid}`, { name: "mine too", metadata: { labels: { a: "b" } } }),
      await as("PATCH", `/v3/apps/${guid}/environment_variables`, { var: { B: "2" } }),
      await as("POST", `/v3/apps/${guid}/processes/web/actions/scale`, { instances: 2 }),
      await as("PATCH", `/v3/apps/${guid}/processes/web`, { health_check: { type: "process" } }),
      await as("POST", `/v3/routes/${route.json.guid}/destinations`, { destinations: [{ app: { guid } }] }),
      await as("POST", "/v3/packages", { type: "bits", relationships: { app: to(guid) } }),
      await as("GET", `/v3/apps/${guid}/manifest`),
      await as("DELETE", `/v3/apps/${guid}`),
      await as("DELETE", `/v3/routes/${route.json.guid}`),
    ];
    expect(outcomes.map(({ status }) => status)).toEqual([200, 200, 202, 200, 200, 201, 200, 202, 202]);
  });

  test.each<[string, string, () => object | undefined]>([
    ["POST", "/v3/spaces", () => ({ name: "s", relationships: { organization: to(org) } })],
    ["POST", "/v3/organizations", () => ({ name: "o" })],
    ["POST", "/v3/domains", () => ({ name: "shared.test" })],
    [
      "POST",
      "/v3/roles",
      () => ({ type: "space_developer", relationships: { user: { data: { guid: "ann" } }, space: to(space) } }),
    ],
    ["PATCH", "/v3/organizations/ORG", () => ({ name: "taken over" })],
    ["PATCH", "/v3/organizations/ORG", () => ({ suspended: true })],
    ["DELETE", "/v3/organizations/ORG", () => undefined],
    ["DELETE", "/v3/spaces/SPACE", () => undefined],
  ])("may not %s %s", async (method, path, body) => {
    const answer = await bench.call(method, path.replace("ORG", org.guid).replace("SPACE", space.guid), body(), "bob");
    expect(fault(answer)).toEqual([403, "CF-NotAuthorized", "You are not authorized to perform the requested action"]);
  });

  test("may not take a wildcard on a shared domain", async () => {
    const [shared] = (await bench.read("/v3/domains?names=apps.example")).resources;
    const body = { host: "*", relationships: { space: to(space), domain: to(shared) } };
    expect(fault(await bench.call("POST", "/v3/routes", body, "bob"))).toEqual([
      422,
      "CF-UnprocessableEntity",
      "You do not have sufficient permissions to create a route with a wildcard host on a domain not scoped to an organization.",
    ]);
  });
});

describe("a manager", () => {
  test("makes spaces, domains and roles in the org; not orgs, shared domains or a suspension", async () => {
    const as = (method: string, path: string, body?: unknown) => bench.call(method, path, body, "ann");
    const made = await as("POST", "/v3/spaces", { name: "new", relationships: { organization: to(org) } });
    expect(made.status).toBe(201);
    const domain = await as("POST", "/v3/domains", { name: "managed.test", relationships: { organization: to(org) } });
    expect([domain.status, domain.json.errors]).toEqual([201, undefined]);
    expect(
      (
        await as("POST", "/v3/roles", {
          type: "organization_user",
          relationships: { user: { data: { guid: "zoe" } }, organization: to(org) },
        })
      ).status,
    ).toBe(201);
    expect((await as("PATCH", `/v3/organizations/${org.guid}`, { metadata: { labels: { a: "b" } } })).status).toBe(200);
    expect((await as("PATCH", `/v3/organizations/${org.guid}`, { suspended: true })).status).toBe(403);
    // The API server itself says so: with kubectl it is no other.
    await expect(
      bench.testEnv.as("ann").patch(Org, { name: "org" }, { type: "merge", body: { spec: { suspended: true } } }),
    ).rejects.toThrow("needs the right to update orgs/limits");
    await expect(
      bench.testEnv
        .as("ann")
        .patch(Org, { name: "org" }, { type: "merge", body: { spec: { quotaRef: { name: "default" } } } }),
    ).rejects.toThrow("needs the right to update orgs/limits");
    expect((await as("POST", "/v3/organizations", { name: "o" })).status).toBe(403);
    expect((await as("POST", "/v3/domains", { name: "shared.test" })).status).toBe(403);
    expect((await as("DELETE", `/v3/domains/${domain.json.guid}`)).status).toBe(202);
    expect((await as("DELETE", `/v3/spaces/${made.json.guid}`)).status).toBe(202);
  });
});

test("in a suspended org everybody reads and only an admin writes", async () => {
  const app = await bench.app(space, "kept");
  expect((await bench.call("PATCH", `/v3/organizations/${org.guid}`, { suspended: true })).json.suspended).toBe(true);
  const suspended = [403, "CF-OrgSuspended", "The organization is suspended"];
  await vi.waitFor(
    async () =>
      expect(fault(await bench.call("PATCH", `/v3/apps/${app.guid}`, { name: "other" }, "bob"))).toEqual(suspended),
    { timeout: 5000, interval: 50 },
  );
  expect(
    fault(await bench.call("POST", "/v3/apps", { name: "new", relationships: { space: to(space) } }, "bob")),
  ).toEqual(suspended);
  expect(
    fault(await bench.call("PATCH", `/v3/apps/${app.guid}/environment_variables`, { var: { A: "1" } }, "bob")),
  ).toEqual(suspended);
  expect(fault(await bench.call("POST", `/v3/apps/${app.guid}/tasks`, { command: "true" }, "bob"))).toEqual(suspended);
  expect((await bench.call("GET", `/v3/apps/${app.guid}`, undefined, "bob")).json.name).toBe("kept");
  // The name that was refused is free: nothing holds it.
  expect((await bench.call("POST", "/v3/apps", { name: "new", relationships: { space: to(space) } })).status).toBe(201);
  expect((await bench.call("PATCH", `/v3/organizations/${org.guid}`, { suspended: false })).status).toBe(200);
  await vi.waitFor(
    async () => expect((await bench.call("PATCH", `/v3/apps/${app.guid}`, { name: "after" }, "bob")).status).toBe(200),
    { timeout: 5000, interval: 50 },
  );
});

test("objects made by kubectl can be read and changed by the API", async () => {
  const namespace = (await bench.testEnv.kube.list(App)).items[0]?.metadata.namespace ?? "";
  await bench.testEnv.kube.create(App, { metadata: { name: "by-hand", namespace }, spec: {} });
  await bench.testEnv.kube.create(Route, {
    metadata: { name: "by-hand", namespace },
    spec: { host: "hand", domainRef: { name: "apps.example" }, destinations: [{ app: "by-hand" }] },
  });
  await vi.waitFor(async () => expect(await bench.column("/v3/apps?names=by-hand", "name")).toEqual(["by-hand"]), {
    timeout: 5000,
    interval: 20,
  });
  const [app] = (await bench.read("/v3/apps?names=by-hand")).resources;
  await vi.waitFor(async () => expect(await bench.column(`/v3/apps/${app.guid}/processes`, "type")).toEqual(["web"]), {
    timeout: 5000,
    interval: 20,
  });
  await vi.waitFor(
    async () => expect(await bench.column(`/v3/apps/${app.guid}/routes`, "url")).toEqual(["hand.apps.example"]),
    { timeout: 5000, interval: 20 },
  );
  expect((await bench.call("PATCH", `/v3/apps/${app.guid}`, { name: "Renamed" })).json.name).toBe("Renamed");
  expect(
    (await bench.call("POST", `/v3/apps/${app.guid}/processes/web/actions/scale`, { memory_in_mb: 128 })).status,
  ).toBe(202);
  expect((await bench.testEnv.kube.get(Process, { namespace, name: "by-hand.web" })).spec.memoryMB).toBe(128);
  expect((await bench.call("POST", "/v3/apps", { name: "renamed", relationships: { space: to(space) } })).status).toBe(
    422,
  );
  expect((await bench.job(await bench.call("DELETE", `/v3/apps/${app.guid}`))).state).toBe("COMPLETE");
});
