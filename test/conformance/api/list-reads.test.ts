// Each remembered list declares every kind that its pages read: recorded at the cache, with a furnished space.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { startApiHarness, to, type ApiHarness } from "./harness.ts";

let bench: ApiHarness;
beforeAll(async () => {
  bench = await startApiHarness();
  const org = await bench.org("recorded");
  const space = await bench.space(org, "here");
  const app = await bench.app(space, "one");
  const droplet = await bench.droplet(app, "d1");
  await bench.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, to(droplet));
  const domain = await bench.make("/v3/domains", {
    name: "recorded.example",
    relationships: { organization: to(org) },
  });
  const route = await bench.make("/v3/routes", { host: "x", relationships: { space: to(space), domain: to(domain) } });
  await bench.call("POST", `/v3/routes/${route.guid}/destinations`, { destinations: [{ app: { guid: app.guid } }] });
  await bench.make("/v3/packages", { type: "bits", relationships: { app: to(app) } });
  await bench.call("POST", `/v3/apps/${app.guid}/tasks`, { command: "ls" });
  await bench.make("/v3/organization_quotas", {
    name: "oq",
    relationships: { organizations: { data: [{ guid: org.guid }] } },
  });
  await bench.make("/v3/space_quotas", {
    name: "sq",
    relationships: { organization: to(org), spaces: { data: [{ guid: space.guid }] } },
  });
  await bench.make("/v3/isolation_segments", { name: "seg" });
  await bench.make("/v3/security_groups", {
    name: "sg",
    relationships: { running_spaces: { data: [{ guid: space.guid }] } },
  });
  const instance = await bench.call("POST", "/v3/service_instances", {
    type: "user-provided",
    name: "up",
    relationships: { space: to(space) },
  });
  await bench.call("POST", "/v3/service_credential_bindings", {
    type: "app",
    relationships: { app: to(app), service_instance: to(instance.json.guid) },
  });
  await bench.testEnv.idle();
}, 120_000);
afterAll(() => bench?.testEnv.stop());

async function undeclaredReads(path: string): Promise<string[]> {
  const { cache } = bench.testEnv.replicas[0].api;
  const [read, declared] = [new Set<string>(), new Set<string>()];
  const spies = [
    vi.spyOn(cache, "store"),
    vi.spyOn(cache, "guid"),
    vi.spyOn(cache, "findByGUID"),
    vi.spyOn(cache, "spaceOf"),
    vi.spyOn(cache, "orgOf"),
    vi.spyOn(cache, "versionOf"),
    vi.spyOn(cache, "changesOf"),
  ] as const;
  await bench.read(path);
  for (const spy of spies.slice(0, 3)) for (const [ref] of spy.mock.calls as [ResourceRef][]) read.add(ref.kind);
  if (spies[3].mock.calls.length) read.add("Space");
  if (spies[4].mock.calls.length) read.add("Org");
  for (const [refs] of spies[5].mock.calls) for (const ref of refs) declared.add(ref.kind);
  for (const [ref] of spies[6].mock.calls) declared.add(ref.kind);
  for (const spy of spies) spy.mockRestore();
  return declared.size === 0
    ? ["none is remembered"]
    : [...read].filter((kind) => !declared.has(kind) && kind !== "Claim");
}

const PATHS = [
  "apps",
  "apps?include=space,space.organization",
  "apps?stacks=base",
  "processes",
  "packages",
  "builds",
  "droplets",
  "tasks",
  "routes?include=space,space.organization,domain",
  "domains",
  "organizations",
  "spaces",
  "spaces?include=organization",
  "roles",
  "roles?include=user,space,organization",
  "service_credential_bindings",
  "service_brokers",
  "security_groups",
  "isolation_segments",
  "organization_quotas",
  "space_quotas",
];

test.each(PATHS)("a page of %s reads no kind that its list does not declare", async (path) => {
  expect(await undeclaredReads(`/v3/${path}`)).toEqual([]);
});

test("a page of routes reads orgs besides, whose change finds every list of routes again", async () => {
  expect(await undeclaredReads("/v3/routes")).toEqual(["Org"]);
});
