// Routes behind feature flags: shared between spaces, given to another space, balanced by hash; the protocols of destinations.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import type { Answer } from "./test-env.ts";

let bench: ApiHarness;
let space: { guid: string };
let other: { guid: string };
let domain: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  const org = await bench.org("org");
  [space, other] = [await bench.space(org, "space"), await bench.space(org, "other")];
  domain = (await bench.read("/v3/domains?names=apps.example")).resources[0];
});
afterAll(() => bench.testEnv.stop());

const create = (host: string, more: object = {}): Promise<Answer> =>
  bench.call("POST", "/v3/routes", { host, ...more, relationships: { space: to(space), domain: to(domain) } });
const make = async (host: string, more: object = {}): ReturnType<ApiHarness["make"]> => {
  const answer = await create(host, more);
  expect([answer.status, answer.json.errors]).toEqual([201, undefined]);
  return answer.json;
};

const flag = async (name: string, enabled: boolean): Promise<void> => {
  expect((await bench.call("PATCH", `/v3/feature_flags/${name}`, { enabled })).status).toBe(200);
};
const sharing = (route: { guid: string }): string => `/v3/routes/${route.guid}/relationships`;
const guidsOf = (answer: Answer): string[] => answer.json.data.map((one: { guid: string }) => one.guid);

test("sharing needs a feature flag, also of admins", async () => {
  const path = sharing(await make("unshared"));
  for (const answer of await Promise.all([
    bench.call("GET", `${path}/shared_spaces`),
    bench.call("POST", `${path}/shared_spaces`, { data: [{ guid: other.guid }] }),
    bench.call("DELETE", `${path}/shared_spaces/${other.guid}`),
    bench.call("PATCH", `${path}/space`, to(other)),
  ]))
    expect(fault(answer)).toEqual([403, "CF-FeatureDisabled", "Feature Disabled: route_sharing"]);
});

test("a shared route takes apps of the other space, and is listed there; unshared, it loses them", async () => {
  await flag("route_sharing", true);
  const route = await make("shared");
  const path = sharing(route);
  const [mine, theirs] = [await bench.app(space, "same-name"), await bench.app(other, "same-name")];
  const map = (app: { guid: string }): Promise<Answer> =>
    bench.call("POST", `/v3/routes/${route.guid}/destinations`, { destinations: [{ app: { guid: app.guid } }] });
  expect(fault(await map(theirs))[2]).toBe(
    "Routes destinations must be in either the route's space or the route's shared spaces",
  );
  const shared = await bench.call("POST", `${path}/shared_spaces`, { data: [{ guid: other.guid }] });
  expect([shared.status, guidsOf(shared)]).toEqual([200, [other.guid]]);
  expect(guidsOf(await bench.call("GET", `${path}/shared_spaces`))).toEqual([other.guid]);
  expect([(await map(mine)).status, (await map(theirs)).status]).toEqual([200, 200]);
  const appsOf = async (): Promise<string[]> =>
    (await bench.read(`/v3/routes/${route.guid}`)).destinations.map((one: { app: { guid: string } }) => one.app.guid);
  expect(new Set(await appsOf())).toEqual(new Set([mine.guid, theirs.guid]));
  expect(await bench.column(`/v3/routes?space_guids=${other.guid}`, "guid")).toEqual([route.guid]);
  expect(await bench.column(`/v3/apps/${theirs.guid}/routes`, "guid")).toEqual([route.guid]);
  expect((await bench.call("DELETE", `${path}/shared_spaces/${other.guid}`)).status).toBe(204);
  expect(await appsOf()).toEqual([mine.guid]);
  expect(await bench.column(`/v3/routes?space_guids=${other.guid}`, "guid")).toEqual([]);
  expect(fault(await bench.call("POST", `${path}/shared_spaces`, { data: [{ guid: space.guid }] }))[2]).toBe(
    `Unable to share route 'shared.apps.example' with space '${space.guid}'. Routes cannot be shared into the space where they were created.`,
  );
  expect(fault(await bench.call("POST", `${path}/shared_spaces`, { data: [{ guid: "x" }, { guid: "y" }] }))[2]).toBe(
    "Unable to share route shared.apps.example with spaces ['x', 'y']. Ensure the spaces exist and that you have access to them.",
  );
  await flag("route_sharing", false);
});

test("another space gets a route with its GUID and destinations; the former space keeps it as shared", async () => {
  await flag("route_sharing", true);
  const route = await make("moved", { metadata: { labels: { a: "b" } } });
  const path = sharing(route);
  const app = await bench.app(space, "stays");
  await bench.call("POST", `/v3/routes/${route.guid}/destinations`, { destinations: [{ app: { guid: app.guid } }] });
  const move = (target: { guid: string }): Promise<Answer> => bench.call("PATCH", `${path}/space`, to(target));
  const moved = await move(other);
  expect([moved.status, moved.json]).toEqual([200, { status: "ok" }]);
  const after = await bench.read(`/v3/routes/${route.guid}`);
  expect(after).toMatchObject({
    url: "moved.apps.example",
    relationships: { space: to(other) },
    metadata: { labels: { a: "b" } },
  });
  expect(after.destinations).toMatchObject([{ app: { guid: app.guid } }]);
  expect(guidsOf(await bench.call("GET", `${path}/shared_spaces`))).toEqual([space.guid]);
  expect((await move(other)).json).toEqual({ status: "ok" });
  expect(fault(await create("moved"))[2]).toMatch(/^Route already exists/);
  expect((await move(space)).status).toBe(200);
  expect((await bench.read(`/v3/routes/${route.guid}`)).relationships.space).toEqual(to(space));
  await make("moved", { path: "/more" });
  expect(fault(await move(other))[2]).toMatch(/^Route already exists with host 'moved'/);
  await flag("route_sharing", false);
});

test("hash load balancing needs its feature flag and a header", async () => {
  const hash = { loadbalancing: "hash", hash_header: "X-User", hash_balance: "1.25" };
  expect(fault(await create("hashed", { options: hash }))[2]).toBe(
    "Options Loadbalancing must be one of 'round-robin, least-connection' if present, Options Unknown field(s): 'hash_header', 'hash_balance'",
  );
  await flag("hash_based_routing", true);
  expect(fault(await create("hashed", { options: { loadbalancing: "hash" } }))[2]).toBe(
    "Hash header must be present when loadbalancing is set to hash.",
  );
  const { guid, options } = await make("hashed", { options: hash });
  expect(options).toEqual({ ...hash, hash_balance: "1.3" });
  const patched = await bench.call("PATCH", `/v3/routes/${guid}`, { options: { loadbalancing: "round-robin" } });
  expect(patched.json.options).toEqual({ loadbalancing: "round-robin" });
  await flag("hash_based_routing", false);
});

test.each([
  [{ protocol: "tcp" }, "Destination protocol must be 'http1' or 'http2' if the parent route's protocol is 'http'"],
  [{ protocol: 5 }, "Destination protocol must be 'http1', 'http2' or 'tcp'."],
])("a destination does not take %j", async (body, detail) => {
  const own = await make("protocols");
  const app = await bench.app(space, `of-${own.guid}`);
  const at = `/v3/routes/${own.guid}/destinations`;
  const { json } = await bench.call("POST", at, { destinations: [{ app: { guid: app.guid } }] });
  const one = `${at}/${json.destinations[0].guid}`;
  expect(fault(await bench.call("PATCH", one, body))[2]).toBe(detail);
  expect((await bench.call("PATCH", one, {})).json.protocol).toBe("http1");
  await bench.job(await bench.call("DELETE", `/v3/routes/${own.guid}`));
});
