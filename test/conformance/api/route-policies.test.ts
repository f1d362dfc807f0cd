// Route policies by the CF API: their domains and routes, refusals, filters and what they include; the route of such a domain is closed, by kubectl too.
import { afterAll, beforeAll, expect, test } from "vitest";
import { Domain } from "../../../crds/domain/domain.ts";
import { Route } from "../../../crds/route/route.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { RoutePolicy } from "../../../crds/route-policy/route-policy.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import type { Answer } from "./test-env.ts";

const POLICIES = "/v3/route_policies";
const UUID = "11111111-2222-3333-4444-555555555555";

let bench: ApiHarness;
let space: { guid: string };
let domain: { guid: string };
let app: { guid: string };
let made = 0;
beforeAll(async () => {
  bench = await startApiHarness();
  const org = await bench.org("org");
  space = await bench.space(org, "space");
  app = await bench.app(space, "shop");
  domain = await bench.make("/v3/domains", {
    name: "mesh.example",
    enforce_route_policies: true,
    route_policies_scope: "space",
  });
  for (const [user, type] of [
    ["ann", "space_auditor"],
    ["bob", "space_supporter"],
  ] as const) {
    await bench.make("/v3/roles", {
      type: "organization_user",
      relationships: { user: to(user), organization: to(org) },
    });
    await bench.make("/v3/roles", { type, relationships: { user: to(user), space: to(space) } });
  }
});
afterAll(() => bench.testEnv.stop());

const readyOf = ({ status }: KubeObject & { status?: { conditions?: { type: string }[] } }): unknown =>
  status?.conditions?.find(({ type }) => type === "Ready");
const aRoute = (of = domain): Promise<{ guid: string }> =>
  bench.make("/v3/routes", { host: `shop-${++made}`, relationships: { domain: to(of), space: to(space) } });
const allow = (route: { guid: string }, source: unknown, person?: "ann" | "bob"): Promise<Answer> =>
  bench.call("POST", POLICIES, { source, relationships: { route: to(route) } }, person);
const allowed = (route: { guid: string }, source: string): Promise<{ guid: string }> =>
  bench.make(POLICIES, { source, relationships: { route: to(route) } });

test("a domain shows that it enforces route policies, and others do not", async () => {
  expect(await bench.read(`/v3/domains/${domain.guid}`)).toMatchObject({
    enforce_route_policies: true,
    route_policies_scope: "space",
  });
  expect(await bench.make("/v3/domains", { name: "open.example" })).not.toHaveProperty("enforce_route_policies");
});

test.each([
  [{ enforce_route_policies: true }, "Route policies scope is required when enforce_route_policies is true"],
  [
    { enforce_route_policies: true, route_policies_scope: "all" },
    "Route policies scope must be one of 'any', 'org', 'space'",
  ],
  [
    { enforce_route_policies: true, route_policies_scope: "any", internal: true },
    "Internal domains cannot have route policy enforcement. Internal routes bypass GoRouter.",
  ],
  [
    { enforce_route_policies: true, route_policies_scope: "any", router_group: { guid: "x" } },
    "Domains with a router group cannot have route policy enforcement. TCP routes do not support mTLS policy enforcement.",
  ],
])("no domain with %j", async (more, detail) => {
  expect(fault(await bench.call("POST", "/v3/domains", { name: "no.example", ...more }))).toEqual([
    422,
    "CF-UnprocessableEntity",
    detail,
  ]);
});

test("a policy names its route and its source, changes its metadata, and ends", async () => {
  const route = await aRoute();
  const policy = await allowed(route, `cf:app:${app.guid}`);
  expect(policy).toMatchObject({
    source: `cf:app:${app.guid}`,
    relationships: { route: to(route), app: to(app), space: { data: null }, organization: { data: null } },
  });
  const path = `${POLICIES}/${policy.guid}`;
  const patched = await bench.call("PATCH", path, { metadata: { labels: { kind: "mesh" } } });
  expect(patched.json).toMatchObject({ guid: policy.guid, metadata: { labels: { kind: "mesh" } } });
  expect(await bench.column(`${POLICIES}?label_selector=kind=mesh`, "guid")).toEqual([policy.guid]);
  expect((await bench.call("DELETE", path)).status).toBe(204);
  expect((await bench.call("GET", path)).status).toBe(404);
});

test.each([
  ["cf:user:x", "Source must be in format 'cf:app:<uuid>', 'cf:space:<uuid>', 'cf:org:<uuid>', or 'cf:any'"],
  [undefined, "Source can't be blank, Source must be a string"],
  [`cf:org:${UUID}`, `Source 'cf:org:${UUID}' is not allowed: domain's route_policies_scope is 'space'.`],
])("the source %s is refused", async (source, detail) => {
  expect(fault(await allow(await aRoute(), source))).toEqual([422, "CF-UnprocessableEntity", detail]);
});

test("a source is named once, and cf:any alone", async () => {
  const [route, open] = [await aRoute(), await aRoute()];
  await allowed(route, `cf:app:${UUID}`);
  expect(fault(await allow(route, `cf:app:${UUID}`))[2]).toBe(
    `A route policy with source 'cf:app:${UUID}' already exists for this route.`,
  );
  expect(fault(await allow(route, "cf:any"))[2]).toContain("cannot be combined");
  await allowed(open, "cf:any");
  expect(fault(await allow(open, `cf:space:${UUID}`))[2]).toContain("allows every source");
});

test("routes of other domains take no policy", async () => {
  const other = await bench.make("/v3/domains", { name: `plain-${++made}.example` });
  const [plain, internal] = [
    await aRoute(other),
    await aRoute(await bench.make("/v3/domains", { name: `inner-${++made}.example`, internal: true })),
  ];
  expect(fault(await allow(plain, "cf:any"))[2]).toContain("does not have enforce_route_policies enabled");
  expect(fault(await allow(internal, "cf:any"))[2]).toContain("internal domains");
});

test("an auditor and a supporter read policies and write none", async () => {
  const route = await aRoute();
  const { guid } = await allowed(route, `cf:app:${UUID}`);
  for (const person of ["ann", "bob"] as const) {
    expect((await bench.call("GET", `${POLICIES}/${guid}`, undefined, person)).status).toBe(200);
    expect((await allow(route, `cf:app:${app.guid}`, person)).status).toBe(403);
    expect((await bench.call("PATCH", `${POLICIES}/${guid}`, { metadata: {} }, person)).status).toBe(403);
    expect((await bench.call("DELETE", `${POLICIES}/${guid}`, undefined, person)).status).toBe(403);
  }
});

test("lists are filtered, and include sources and routes; a list of routes includes policies", async () => {
  const route = await aRoute();
  const one = await allowed(route, `cf:app:${app.guid}`);
  const gone = await allowed(route, `cf:space:${UUID}`);
  const guids = (query: string): Promise<string[]> =>
    bench.column(`${POLICIES}?route_guids=${route.guid}${query}`, "guid");
  expect(await guids("")).toEqual([one.guid, gone.guid]);
  expect(await guids(`&sources=cf:space:${UUID}`)).toEqual([gone.guid]);
  expect(await guids(`&source_guids=${app.guid}`)).toEqual([one.guid]);
  expect(await guids(`&space_guids=${space.guid}`)).toHaveLength(2);
  expect(await guids("&space_guids=none")).toEqual([]);
  expect((await bench.read(`${POLICIES}?route_guids=${route.guid}&include=source,route`)).included).toMatchObject({
    apps: [{ guid: app.guid }],
    spaces: [],
    organizations: [],
    routes: [{ guid: route.guid }],
  });
  const { included } = await bench.read(`/v3/routes?guids=${route.guid}&include=route_policies`);
  expect(included.route_policies.map(({ guid }: { guid: string }) => guid)).toEqual([one.guid, gone.guid]);
});

test("the route is closed, and owns its policies", async () => {
  const { kube } = bench.testEnv;
  const route = await aRoute();
  const { guid } = await allowed(route, `cf:app:${app.guid}`);
  await eventually(async () => {
    const [object] = (await kube.list(Route)).items.filter(
      ({ metadata }) => metadata.labels?.["cupola.dev/guid"] === route.guid,
    );
    expect(object && readyOf(object)).toMatchObject({ status: "False", reason: "RoutePoliciesNotSupported" });
    expect((await kube.list(RouteBinding)).items.filter(({ spec }) => spec.routeGUID === route.guid)).toEqual([]);
    const [policy] = (await kube.list(RoutePolicy)).items.filter(
      ({ metadata }) => metadata.labels?.["cupola.dev/guid"] === guid,
    );
    expect(policy && readyOf(policy)).toMatchObject({ status: "False", reason: "NotSupported" });
    expect(policy?.metadata.ownerReferences).toMatchObject([{ kind: "Route", uid: object?.metadata.uid }]);
  });
});

test("cf:any that kubectl makes beside others, and a source that it makes again, have a condition, until they are alone", async () => {
  const { kube } = bench.testEnv;
  const route = await aRoute();
  const { guid } = await allowed(route, `cf:app:${app.guid}`);
  const { metadata, spec } = (await kube.list(RoutePolicy)).items.find(
    (one) => one.metadata.labels?.["cupola.dev/guid"] === guid,
  ) as RoutePolicy;
  // Ages have whole seconds, so in the same one uids decide.
  const [later, more] = [
    new Date(Date.parse(metadata.creationTimestamp ?? "") + 1000),
    { namespace: metadata.namespace ?? "" },
  ];
  await eventually(() => expect(Date.now()).toBeGreaterThan(later.getTime()));
  for (const [name, source] of [
    ["everyone", "cf:any"],
    ["again", spec.source],
  ] as const)
    await kube.create(RoutePolicy, { metadata: { name, ...more }, spec: { ...spec, source } });
  const reasonOf = async (name: string): Promise<unknown> => {
    const found = await kube.find(RoutePolicy, { name, ...more });
    return found && readyOf(found);
  };
  await eventually(async () => {
    expect(await reasonOf("everyone")).toMatchObject({ reason: "SourceConflict" });
    expect(await reasonOf("again")).toMatchObject({ reason: "SourceConflict" });
    expect(await reasonOf(metadata.name)).toMatchObject({ reason: "NotSupported" });
  });
  await kube.delete(RoutePolicy, { name: metadata.name, ...more });
  await kube.delete(RoutePolicy, { name: "everyone", ...more });
  await eventually(async () => expect(await reasonOf("again")).toMatchObject({ reason: "NotSupported" }));
  expect(fault(await allow(route, spec.source))[2]).toContain("already exists");
});

test("a domain keeps its choice, and an internal one has none", async () => {
  const { kube } = bench.testEnv;
  const { metadata } = (await kube.list(Domain)).items.find(({ spec }) => spec.name === "mesh.example") as Domain;
  await expect(
    kube.patch(Domain, metadata, { type: "merge", body: { spec: { routePolicies: null } } }),
  ).rejects.toThrow(/immutable/);
  await expect(
    kube.create(Domain, {
      metadata: { name: "inner", namespace: metadata.namespace ?? "" },
      spec: { name: "inner.mesh.example", internal: true, routePolicies: { scope: "any" } },
    }),
  ).rejects.toThrow("a domain with routePolicies is for HTTP, and not internal");
});
