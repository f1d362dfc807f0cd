// TCP routes at the API and by kubectl: who has a port, which ports there are, quotas, and domains of router groups.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Route } from "../../../crds/route/route.ts";
import { Space } from "../../../crds/space/space.ts";
import { type ApiHarness, startApiHarness, to } from "./harness.ts";
import type { Answer } from "./test-env.ts";

const PATIENCE = { timeout: 20_000 };
let bench: ApiHarness;
let org: { guid: string };
let space: { guid: string };
let group: { guid: string };
let domain: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  const parameters = { tcpPorts: "5000-5003", tcpGroup: "default-tcp" };
  await bench.testEnv.kube.create(BackendClass, { metadata: { name: "tcp" }, spec: { role: "router", parameters } });
  org = await bench.org("org");
  space = await bench.space(org, "space");
  group = await vi.waitFor(async () => {
    const groups = await listGroups();
    expect(groups).toMatchObject([{ name: "default-tcp", type: "tcp", reservable_ports: "5000-5003" }]);
    return groups[0]!;
  }, PATIENCE);
  domain = await bench.make("/v3/domains", { name: "tcp.example", router_group: { guid: group.guid } });
});
afterAll(() => bench.testEnv.stop());

/** An array, not an object as elsewhere. */
const listGroups = async (query = ""): Promise<{ guid: string }[]> =>
  JSON.parse((await bench.call("GET", `/routing/v1/router_groups${query}`)).text) as { guid: string }[];
const create = (more: object = {}, at = domain): Promise<Answer> =>
  bench.call("POST", "/v3/routes", { ...more, relationships: { space: to(space), domain: to(at) } });
const detailOf = ({ json }: Answer): string => json.errors?.[0]?.detail;

test("a router group by its name, and none by another", async () => {
  expect(await listGroups("?name=default-tcp")).toMatchObject([{ guid: group.guid }]);
  const none = await bench.call("GET", "/routing/v1/router_groups?name=other");
  expect([none.status, none.json]).toEqual([
    404,
    { name: "ResourceNotFoundError", message: "Router Group 'other' not found" },
  ]);
});

test.each([
  ["that nobody has", () => ({ router_group: { guid: "nobody" } }), /Router group with guid 'nobody' not found/],
  ["of an internal domain", () => ({ internal: true, router_group: { guid: group.guid } }), /Internal domains cannot/],
  [
    "of a private domain",
    () => ({ router_group: { guid: group.guid }, relationships: { organization: to(org) } }),
    /scoped to an organization cannot/,
  ],
])("a router group %s is refused", async (_what, more, detail) => {
  const answer = await bench.call("POST", "/v3/domains", { name: "other.example", ...more() });
  expect([answer.status, detailOf(answer)]).toEqual([422, expect.stringMatching(detail)]);
});

test("ports: given, chosen, taken, not offered, and all of them", async () => {
  const given = await create({ port: 5001 });
  expect([given.status, given.json]).toMatchObject([201, { port: 5001, protocol: "tcp", url: "tcp.example:5001" }]);
  expect(detailOf(await create({ port: 5001 }))).toBe(
    "Port '5001' is not available. Try a different port or use a different domain.",
  );
  const twin = await bench.make("/v3/domains", { name: "twin.example", router_group: { guid: group.guid } });
  expect(detailOf(await create({ port: 5001 }, twin))).toMatch(/^Port '5001' is not available/);
  expect(detailOf(await create({ port: 80 }))).toMatch(/^Port '80' is not available/);
  expect(detailOf(await create({ host: "shop", port: 5000 }))).toMatch(/do not support paths or hosts/);
  const chosen = await Promise.all([create(), create(), create({}, twin)]);
  expect(chosen.map(({ json }) => json.port as number).sort()).toEqual([5000, 5002, 5003]);
  expect(detailOf(await create())).toMatch(/no more ports available for router group: default-tcp/);
  for (const route of [given, ...chosen]) await bench.call("DELETE", `/v3/routes/${route.json.guid}`);
});

test("a port that kubectl takes is taken, and one that kubectl may not have is said", async () => {
  const { metadata } = (await bench.testEnv.kube.list(Space)).items.find(({ spec }) => spec.name === "space")!;
  const { kube } = bench.testEnv;
  const namespace = (await kube.get(Space, metadata)).status?.namespace;
  const [name] = (await kube.list(Domain, { namespace: SYSTEM_NAMESPACE })).items.flatMap((one) =>
    one.spec.name === "tcp.example" ? one.metadata.name : [],
  );
  const byKubectl = (route: string, port: number): Promise<Route> =>
    kube.create(Route, { metadata: { name: route, namespace }, spec: { port, domainRef: { name } } });
  const reasonOf = async (route: string): Promise<string | undefined> =>
    (await kube.get(Route, { namespace, name: route })).status?.conditions?.find(({ type }) => type === "Ready")
      ?.reason;
  await byKubectl("by-kubectl", 5002);
  await vi.waitFor(async () => expect(detailOf(await create({ port: 5002 }))).toMatch(/not available/), PATIENCE);
  await byKubectl("second", 5002);
  await byKubectl("outside", 80);
  await vi.waitFor(
    async () => expect(await Promise.all(["second", "outside"].map(reasonOf))).toEqual(["NameTaken", "PortNotOffered"]),
    PATIENCE,
  );
  for (const route of ["by-kubectl", "second", "outside"]) await kube.delete(Route, { namespace, name: route });
});

test("destinations speak TCP", async () => {
  const route = await vi.waitFor(async () => {
    const answer = await create({ port: 5003 });
    expect(answer.status).toBe(201);
    return answer.json as { guid: string };
  }, PATIENCE);
  const app = await bench.make("/v3/apps", { name: "shop", relationships: { space: to(space) } });
  const path = `/v3/routes/${route.guid}/destinations`;
  const mapped = await bench.call("POST", path, { destinations: [{ app: { guid: app.guid } }] });
  expect(mapped.json.destinations).toMatchObject([{ protocol: "tcp" }]);
  const http = await bench.call("POST", path, { destinations: [{ app: { guid: app.guid }, protocol: "http2" }] });
  expect(detailOf(http)).toBe("Cannot use 'http2' protocol for tcp routes; valid options are: [tcp].");
});

test("a quota bounds the ports of an org", async () => {
  const quota = await bench.make("/v3/organization_quotas", {
    name: "ports",
    routes: { total_routes: 10, total_reserved_ports: 1 },
    relationships: { organizations: { data: [{ guid: org.guid }] } },
  });
  expect(quota.guid).toBeDefined();
  await vi.waitFor(
    async () => expect(detailOf(await create())).toMatch(/Reserved route ports quota exceeded/),
    PATIENCE,
  );
});
