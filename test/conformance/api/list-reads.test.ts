// Each remembered list declares every kind that its pages read, and those that its filters read: recorded at the cache, with a furnished space.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { eventually } from "../../eventually.ts";
import { startApiHarness, to, type ApiHarness } from "./harness.ts";
import { makeCatalog, SYSTEM } from "./managed-world.ts";
import { startScriptedBroker, type ScriptedBroker } from "./scripted-broker.ts";

let bench: ApiHarness;
let broker: ScriptedBroker;
/** By the names that queries use. */
let guids: Record<string, string>;
beforeAll(async () => {
  [bench, broker] = [await startApiHarness(), await startScriptedBroker()];
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
  await makeCatalog(bench, broker);
  const { cache } = bench.testEnv.replicas[0].api;
  const plan = await eventually(() => {
    const found = cache.store(ServicePlan).find({ namespace: SYSTEM, name: "small" });
    if (!found) throw new Error("the plan is not there");
    return cache.guid(ServicePlan, found);
  });
  const ordered = await bench.call("POST", "/v3/service_instances", {
    type: "managed",
    name: "managed",
    relationships: { space: to(space), service_plan: to(plan) },
  });
  expect([ordered.status, ordered.json.errors]).toEqual([202, undefined]);
  const deployment = await bench.call("POST", "/v3/deployments", { relationships: { app: to(app) } });
  expect([deployment.status, deployment.json.errors]).toEqual([201, undefined]);
  guids = { app: app.guid, space: space.guid, org: org.guid, domain: domain.guid, plan };
  await bench.testEnv.idle();
}, 120_000);
afterAll(async () => {
  await bench?.testEnv.stop();
  await broker?.stop();
});

/** Calls of the cache while a page is read: kinds that were read, and kinds whose versions were taken, in their order. */
interface Recording {
  reads: { kind: string; order: number }[];
  /** `within` is undefined for versions of the whole cluster. */
  versions: { kinds: string[]; isWithin: boolean; order: number }[];
  logs: string[];
}

async function record(path: string): Promise<Recording> {
  const { cache } = bench.testEnv.replicas[0].api;
  const refs = (["store", "guid", "findByGUID"] as const).map((name) => vi.spyOn(cache, name));
  const tenancy = (["spaceOf", "orgOf"] as const).map((name) => vi.spyOn(cache, name));
  const [versions, logs] = [vi.spyOn(cache, "versionOf"), vi.spyOn(cache, "changesOf")];
  try {
    await bench.read(path);
    const orderOf = (spy: { mock: { invocationCallOrder: number[] } }, at: number): number =>
      spy.mock.invocationCallOrder[at] ?? 0;
    return {
      reads: [
        ...refs.flatMap((spy) =>
          (spy.mock.calls as [ResourceRef][]).map(([{ kind }], at) => ({ kind, order: orderOf(spy, at) })),
        ),
        ...tenancy.flatMap((spy, which) =>
          spy.mock.calls.map((_, at) => ({ kind: which === 0 ? "Space" : "Org", order: orderOf(spy, at) })),
        ),
      ],
      versions: versions.mock.calls.map((args, at) => ({
        kinds: args[0].map(({ kind }) => kind),
        isWithin: args.length === 2,
        order: orderOf(versions, at),
      })),
      logs: logs.mock.calls.map(([{ kind }]) => kind),
    };
  } finally {
    for (const spy of [...refs, ...tenancy, versions, logs]) spy.mockRestore();
  }
}

async function undeclaredReads(path: string): Promise<string[]> {
  const { reads, versions, logs } = await record(path);
  const declared = new Set([...versions.flatMap(({ kinds }) => kinds), ...logs]);
  return declared.size === 0
    ? ["none is remembered"]
    : [...new Set(reads.map(({ kind }) => kind))].filter((kind) => !declared.has(kind) && kind !== "Claim");
}

/** Kinds that decide what is on the list but find it again with no change of theirs. `asked` are looked up at every request. */
async function undeclaredByFilters(path: string, asked: readonly string[]): Promise<string[]> {
  const { reads, versions, logs } = await record(path);
  // A list that is found takes the version of what it reads twice at once: in the cluster, and in its namespaces.
  const taken = versions.filter(
    (one, at) => !one.isWithin && versions[at + 1]?.isWithin && String(versions[at + 1]?.kinds) === String(one.kinds),
  );
  const last = taken.at(-1);
  if (!last) return ["none is remembered"];
  const known = new Set([...last.kinds, ...logs, ...asked, "Claim"]);
  return [...new Set(reads.filter(({ order }) => order < last.order).map(({ kind }) => kind))].filter(
    (kind) => !known.has(kind),
  );
}

/** Pages of deployments and service instances are presented at each request, so they declare nothing. */
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

const SCOPES = ["Space", "Org"];
/** Queries, and kinds that each request looks up to find the list's scope. */
const FILTERS: [query: string, asked?: string[]][] = [
  ["apps?names=one"],
  ["apps?order_by=name"],
  ["apps?stacks=host"],
  ["apps?lifecycle_type=buildpack"],
  ["apps?space_guids={space}", SCOPES],
  ["apps?organization_guids={org}", SCOPES],
  ["apps?label_selector=a"],
  ["processes?types=web"],
  ["processes?guids={app}"],
  ["processes?app_guids={app}"],
  ["packages?states=READY"],
  ["packages?app_guids={app}"],
  ["builds?states=STAGED"],
  ["builds?app_guids={app}"],
  ["builds?package_guids={app}"],
  ["droplets?states=STAGED"],
  ["droplets?app_guids={app}"],
  ["tasks?names=x"],
  ["tasks?states=RUNNING"],
  ["tasks?app_guids={app}"],
  ["apps/{app}/tasks?sequence_ids=1", ["App"]],
  ["routes?hosts=x"],
  ["routes?ports=1"],
  ["routes?app_guids={app}"],
  ["routes?domain_guids={domain}"],
  // A change of a domain, which names routes, finds every list of routes again.
  ["routes?space_guids={space}", [...SCOPES, "Domain"]],
  ["domains?names=recorded.example"],
  ["domains?organization_guids={org}", SCOPES],
  ["organizations?names=recorded"],
  ["spaces?names=here"],
  ["spaces?organization_guids={org}", SCOPES],
  ["roles?types=space_developer"],
  ["roles?space_guids={space}", SCOPES],
  ["deployments?states=DEPLOYED"],
  ["deployments?status_values=FINALIZED"],
  ["deployments?status_reasons=DEPLOYED"],
  ["deployments?app_guids={app}"],
  ["service_instances?names=up"],
  ["service_instances?type=managed"],
  ["service_instances?service_plan_guids={plan}"],
  ["service_instances?service_plan_names=small"],
  ["service_instances?space_guids={space}", SCOPES],
  ["service_credential_bindings?app_guids={app}"],
  ["service_credential_bindings?app_names=one"],
  ["service_credential_bindings?service_instance_names=up"],
  ["service_credential_bindings?service_plan_names=small"],
  ["service_credential_bindings?service_offering_guids={plan}"],
  ["service_brokers?names=scripted"],
  ["service_brokers?space_guids={space}", SCOPES],
  ["security_groups?running_space_guids={space}", SCOPES],
  ["security_groups?globally_enabled_running=true"],
  ["isolation_segments?organization_guids={org}", SCOPES],
  ["organization_quotas?organization_guids={org}", SCOPES],
  ["space_quotas?space_guids={space}", SCOPES],
  ["space_quotas?organization_guids={org}", SCOPES],
];

test.each(FILTERS)("%s is found again with every kind that its filters read", async (query, asked = []) => {
  const path = query.replaceAll(/\{(\w+)\}/g, (_, name: string) => guids[name] ?? name);
  expect(await undeclaredByFilters(`/v3/${path}`, asked)).toEqual([]);
});
