// Service route bindings by the CF API: of user-provided and managed instances, their refusals, and the RouteBinding that routers get.
import { afterAll, beforeAll, expect, test } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Route } from "../../../crds/route/route.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, startApiHarness, to } from "./harness.ts";
import { makeCatalog, SYSTEM } from "./managed-world.ts";
import { startScriptedBroker, type ScriptedBroker } from "./scripted-broker.ts";
import type { Answer } from "./test-env.ts";

const BINDINGS = "/v3/service_route_bindings";
const URL = "https://logger.example.org/in";

let bench: ApiHarness;
let broker: ScriptedBroker;
let space: { guid: string };
let other: { guid: string };
let domain: { guid: string };
let internal: { guid: string };
beforeAll(async () => {
  [bench, broker] = [await startApiHarness(), await startScriptedBroker()];
  const org = await bench.org("org");
  space = await bench.space(org, "space");
  other = await bench.space(org, "other");
  domain = await bench.make("/v3/domains", { name: "bound.example" });
  internal = await bench.make("/v3/domains", { name: "bound.internal", internal: true });
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
  await setRouteServices("true");
  await makeCatalog(bench, broker);
});
afterAll(async () => {
  await bench.testEnv.stop();
  await broker.stop();
});

async function setRouteServices(able: string): Promise<void> {
  const { kube } = bench.testEnv;
  const router = await kube.get(BackendClass, { name: "router" });
  await kube.updateStatus(BackendClass, { ...router, status: { capabilities: { routeServices: able } } });
  await eventually(() => {
    const { cache } = bench.testEnv.replicas[0].api;
    const known = cache.store(BackendClass).find({ name: "router" })?.status?.capabilities?.["routeServices"];
    expect(known).toBe(able);
  });
}

let made = 0;
/** A name that no other test, and no other try of this one, uses. */
const freeName = (stem: string): string => `${stem}-${++made}`;

const aRoute = (within = space, of = domain): Promise<{ guid: string }> =>
  bench.make("/v3/routes", { host: freeName("shop"), relationships: { domain: to(of), space: to(within) } });
const aLogger = (more: object = { route_service_url: URL }): Promise<{ guid: string }> =>
  bench.make("/v3/service_instances", {
    type: "user-provided",
    name: freeName("logger"),
    relationships: { space: to(space) },
    ...more,
  });
const toBody = (route: { guid: string }, instance: { guid: string }, more: object = {}): object => ({
  relationships: { route: to(route), service_instance: to(instance) },
  ...more,
});
const bind = (route: { guid: string }, instance: { guid: string }, more: object = {}): Promise<Answer> =>
  bench.call("POST", BINDINGS, toBody(route, instance, more));

/** The service that the router is told for a route. */
async function serviceOf(route: { guid: string }): Promise<unknown> {
  const { items } = await bench.testEnv.kube.list(RouteBinding);
  return items.find(({ spec }) => spec.routeGUID === route.guid)?.spec.routeService?.url;
}
const toldService = (route: { guid: string }, url: string | undefined): Promise<void> =>
  eventually(async () => expect(await serviceOf(route)).toBe(url));

test("a user-provided one is made, shown, listed, labelled and deleted, and the router learns of it", async () => {
  const [route, logger] = [await aRoute(), await aLogger()];
  const { status, json } = await bind(route, logger, { metadata: { labels: { a: "b" } } });
  expect([status, json]).toEqual([
    201,
    expect.objectContaining({
      route_service_url: URL,
      metadata: { labels: { a: "b" }, annotations: {} },
      relationships: { route: to(route), service_instance: to(logger) },
    }),
  ]);
  await toldService(route, URL);
  const listed = await bench.read(
    `${BINDINGS}?route_guids=${route.guid}&service_instance_guids=${logger.guid}&include=route,service_instance`,
  );
  expect(listed.resources).toMatchObject([{ guid: json.guid }]);
  expect(listed["included"]).toMatchObject({
    routes: [{ guid: route.guid }],
    service_instances: [{ guid: logger.guid }],
  });
  const one = `${BINDINGS}/${json.guid}`;
  const labelled = await bench.call("PATCH", one, { metadata: { labels: { a: null, c: "d" } } });
  expect(labelled.json.metadata.labels).toEqual({ c: "d" });
  expect((await bench.call("GET", `/v3/service_credential_bindings/${json.guid}`)).status).toBe(404);
  const credentials = await bench.read(`/v3/service_credential_bindings?service_instance_guids=${logger.guid}`);
  expect(credentials.resources).toEqual([]);
  expect((await bench.call("DELETE", one)).status).toBe(204);
  await toldService(route, undefined);
  expect((await bench.call("GET", one)).status).toBe(404);
});

test("a new address of the instance is the route's at once", async () => {
  const [route, logger] = [await aRoute(), await aLogger()];
  await bind(route, logger);
  await toldService(route, URL);
  await bench.call("PATCH", `/v3/service_instances/${logger.guid}`, { route_service_url: "https://new.example.org" });
  await toldService(route, "https://new.example.org");
});

test("a managed one is made by its broker, with parameters, and deleted there", async () => {
  const name = freeName("waf");
  const plan = (await bench.testEnv.kube.get(ServicePlan, { namespace: SYSTEM, name: "small" })).metadata.uid ?? "";
  const sent = { type: "managed", name, relationships: { space: to(space), service_plan: to(plan) } };
  await bench.job(await bench.call("POST", "/v3/service_instances", sent));
  const [instance] = (await bench.read(`/v3/service_instances?names=${name}`)).resources;
  broker.answer(`${instance.guid}/service_bindings/`, ({ method }) =>
    method === "DELETE" ? { status: 200 } : { status: 201, body: { route_service_url: URL } },
  );
  const route = await aRoute();
  const job = await bench.job(await bind(route, instance, { parameters: { level: 3 } }));
  expect([job.state, job.operation, job.errors]).toEqual(["COMPLETE", "service_route_bindings.create", []]);
  const [asked] = broker.calls(`${instance.guid}/service_bindings/`);
  expect(asked?.body).toMatchObject({
    bind_resource: { route: expect.stringMatching(/^shop-\d+\.bound\.example$/) },
    parameters: { level: 3 },
  });
  const [binding] = (await bench.read(`${BINDINGS}?route_guids=${route.guid}`)).resources;
  expect(binding).toMatchObject({ route_service_url: URL, last_operation: { type: "create", state: "succeeded" } });
  expect(await bench.read(`${BINDINGS}/${binding.guid}/parameters`)).toEqual({ level: 3 });
  await toldService(route, URL);
  const gone = await bench.job(await bench.call("DELETE", `${BINDINGS}/${binding.guid}`));
  expect([gone.state, gone.operation]).toEqual(["COMPLETE", "service_route_bindings.delete"]);
  await toldService(route, undefined);
});

test("a route that is deleted takes its binding along", async () => {
  const [route, logger] = [await aRoute(), await aLogger()];
  const { json } = await bind(route, logger);
  await bench.job(await bench.call("DELETE", `/v3/routes/${route.guid}`));
  await eventually(async () => expect((await bench.call("GET", `${BINDINGS}/${json.guid}`)).status).toBe(404));
});

test("by kubectl: a binding shows in the API, and one of a route that is not there says so", async () => {
  const { kube } = bench.testEnv;
  const [route, logger] = [await aRoute(), await aLogger()];
  const { namespace = "", name } = (await kube.list(Route)).items.find(
    ({ metadata }) => metadata.labels?.["cupola.dev/guid"] === route.guid,
  )!.metadata;
  const instance = (await bench.read(`/v3/service_instances/${logger.guid}`))["name"] as string;
  const make = (own: string, to: string) =>
    kube.create(ServiceBinding, {
      metadata: { namespace, name: own },
      spec: { type: "route", routeRef: { name: to }, instanceRef: { name: instance } },
    });
  await make("by-kubectl", name);
  await toldService(route, URL);
  expect((await bench.read(`${BINDINGS}?route_guids=${route.guid}`)).resources).toHaveLength(1);
  await make("dangling", "no-such-route");
  await eventually(async () => {
    const { status } = await kube.get(ServiceBinding, { namespace, name: "dangling" });
    expect(status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ reason: "RouteMissing" });
  });
  await expect(
    kube.create(ServiceBinding, {
      metadata: { namespace, name: "both" },
      spec: { type: "route", appRef: { name: "x" }, routeRef: { name }, instanceRef: { name: instance } },
    }),
  ).rejects.toThrow("type app needs an appRef, and others have none");
});

test.each<[string, () => Promise<Answer>, RegExp]>([
  [
    "an instance that is no route service",
    async () => bind(await aRoute(), await aLogger({})),
    /does not support route/,
  ],
  ["an internal route", async () => bind(await aRoute(space, internal), await aLogger()), /internal routes/],
  ["a route of another space", async () => bind(await aRoute(other), await aLogger()), /in different spaces/],
  [
    "a route that is not there",
    async () => bind({ guid: "none" }, await aLogger()),
    /route could not be found: 'none'/,
  ],
  ["an instance that is not there", async () => bind(await aRoute(), { guid: "none" }), /instance could not be found/],
  [
    "parameters for nobody",
    async () => bind(await aRoute(), await aLogger(), { parameters: { a: 1 } }),
    /not supported for user-provided/,
  ],
])("%s is refused", async (_what, ask, words) => {
  const { status, json } = await ask();
  expect([status, json.errors[0].detail]).toEqual([422, expect.stringMatching(words)]);
});

test("a route has one service", async () => {
  const [route, logger] = [await aRoute(), await aLogger()];
  expect((await bind(route, logger)).status).toBe(201);
  const again = await bind(route, logger);
  expect([again.status, again.json.errors[0].title]).toEqual([422, "CF-ServiceInstanceAlreadyBoundToSameRoute"]);
  const second = await bind(route, await aLogger());
  expect([second.status, second.json.errors[0].detail]).toEqual([
    422,
    expect.stringMatching(/single service instance/),
  ]);
  const third = await aRoute();
  const both = await Promise.all([bind(third, await aLogger()), bind(third, await aLogger())]);
  expect(both.map(({ status }) => status).toSorted()).toEqual([201, 422]);
});

test("supporters bind, auditors read", async () => {
  const [route, logger] = [await aRoute(), await aLogger()];
  expect((await bench.call("POST", BINDINGS, toBody(route, logger), "ann")).status).toBe(403);
  const { status, json } = await bench.call("POST", BINDINGS, toBody(route, logger), "bob");
  expect(status).toBe(201);
  expect((await bench.call("GET", `${BINDINGS}/${json.guid}`, undefined, "ann")).status).toBe(200);
  expect((await bench.call("DELETE", `${BINDINGS}/${json.guid}`, undefined, "ann")).status).toBe(403);
  expect((await bench.call("GET", `${BINDINGS}/${json.guid}`, undefined, "carl")).status).toBe(404);
  expect((await bench.call("DELETE", `${BINDINGS}/${json.guid}`, undefined, "bob")).status).toBe(204);
});

test("a router without route services: the API refuses, and a route that kubectl binds is not served", async () => {
  const [route, logger] = [await aRoute(), await aLogger()];
  expect((await bind(route, logger)).status).toBe(201);
  await toldService(route, URL);
  await setRouteServices("false");
  try {
    const refused = await bind(await aRoute(), logger);
    expect([refused.status, refused.json.errors[0].detail]).toEqual([422, expect.stringMatching(/no route services/)]);
    await eventually(async () => {
      const { items } = await bench.testEnv.kube.list(RouteBinding);
      expect(items.some(({ spec }) => spec.routeGUID === route.guid)).toBe(false);
    });
  } finally {
    await setRouteServices("true");
  }
});
