// Quotas: what exceeds one is refused by the CF API, and by kubectl not put in force until there is room.
import { expect } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { eventually } from "../../eventually.ts";
import type { Json } from "../kubernetes/api.ts";
import { to } from "../permissions/test-env.ts";
import {
  cfRefuses,
  inForce,
  kubectl,
  made,
  notInForce,
  pathOf,
  removed,
  saysOf,
  type ObjectToMake,
  type RuleRow,
  type RuleWorld,
} from "./world.ts";

const SYSTEM = "cupola-system";

interface Limited {
  org: string;
  space: string;
  orgNamespace: string;
  namespace: string;
}

/** An org with a space, and a quota of its own. */
async function limited({ env }: RuleWorld, name: string, limits: object): Promise<Limited> {
  const org = (await env.make("/v3/organizations", { name })).guid;
  const space = (await env.make("/v3/spaces", { name: "one", relationships: { organization: to(org) } })).guid;
  await env.make("/v3/organization_quotas", {
    name,
    ...limits,
    relationships: { organizations: { data: [{ guid: org }] } },
  });
  return { org, space, orgNamespace: name, namespace: `${name}-one` };
}

/** A Route by kubectl. */
const route = ({ namespace }: Limited, name: string, spec: object = {}): ObjectToMake => ({
  kind: "Route",
  namespace,
  name,
  spec: { host: `${namespace}-${name}`, domainRef: { name: "apps.example" }, ...spec },
});

async function sharedDomainGUID({ env }: RuleWorld): Promise<string> {
  return (await env.cf("admin", "GET", "/v3/domains?names=apps.example")).json.resources[0].guid;
}

/** An app of an image, with its droplet. */
async function app(world: RuleWorld, { namespace }: Limited): Promise<void> {
  const appRef = { name: "shop" };
  const image = { kind: "docker", lifecycleType: "docker", image: "example.com/shop:1", processTypes: { web: "" } };
  await made(world, { kind: "Droplet", namespace, name: "d", spec: { appRef, ...image } });
  await made(world, { kind: "App", namespace, name: "shop", spec: { droplet: { name: "d" } } });
}

const task = ({ namespace }: Limited, name: string, memoryMB = 64): ObjectToMake => ({
  kind: "Task",
  namespace,
  name,
  spec: { appRef: { name: "shop" }, command: "run", memoryMB },
});

async function appGUID({ env }: RuleWorld, { space }: Limited): Promise<string> {
  return eventually(async () => {
    const { json } = await env.cf("admin", "GET", `/v3/apps?space_guids=${space}`);
    expect(json.resources).toHaveLength(1);
    return json.resources[0].guid as string;
  });
}

const planRef = (name: string): object => ({ namespace: SYSTEM, name });
const instance = ({ namespace }: Limited, name: string, plan = "free"): ObjectToMake => ({
  kind: "ServiceInstance",
  namespace,
  name,
  spec: { type: "managed", planRef: planRef(plan) },
});

/** A broker that never answers, with a free and a paid plan for all; once for all rows. */
async function catalog(world: RuleWorld): Promise<void> {
  const { env } = world;
  const broker = { kind: "ServiceBroker", namespace: SYSTEM, name: "silent" };
  if ((await env.kubernetes.get(pathOf(broker))).status === 200) return;
  const credentialsSecretRef = { name: "none" };
  await made(world, { ...broker, spec: { name: "silent", url: "http://127.0.0.1:1", credentialsSecretRef } });
  const offering = { name: "db", brokerRef: { name: "silent" }, catalogID: "db-id" };
  await made(world, { kind: "ServiceOffering", namespace: SYSTEM, name: "db", spec: offering });
  for (const [name, free] of [
    ["free", true],
    ["paid", false],
  ] as const)
    await made(world, {
      kind: "ServicePlan",
      namespace: SYSTEM,
      name,
      spec: { name, free, offeringRef: { name: "db" }, catalogID: `${name}-id`, visibility: { type: "public" } },
    });
}

async function newInstance({ env }: RuleWorld, { space }: Limited, plan: string): Promise<["POST", string, Json]> {
  const guid = await eventually(async () => {
    const { json } = await env.cf("admin", "GET", `/v3/service_plans?names=${plan}`);
    expect(json.resources).toHaveLength(1);
    return json.resources[0].guid as string;
  });
  const relationships = { space: to(space), service_plan: to(guid) };
  return ["POST", "/v3/service_instances", { type: "managed", name: "more", relationships }];
}

/** Its broker has been asked. */
async function begun({ env }: RuleWorld, object: ObjectToMake): Promise<void> {
  await eventually(async () =>
    expect((await env.kubernetes.get(pathOf(object))).body.status?.lastOperation?.type).toBe("create"),
  );
}

/** As if its broker had made it. */
async function provided({ env }: RuleWorld, { namespace, name }: ObjectToMake): Promise<void> {
  const now = new Date().toISOString();
  const lastOperation = { type: "create", state: "succeeded", createdAt: now, updatedAt: now };
  const body = { status: { lastOperation, operation: null } };
  await env.root.patch(ServiceInstance, { namespace, name }, { type: "merge", body }, { subresource: "status" });
}

/** Without a word to its broker, which is silent. */
async function purged(world: RuleWorld, object: ObjectToMake): Promise<void> {
  await world.env.at("admin").patch("merge", pathOf(object), { spec: { purge: true } });
  await removed(world, object);
}

export const quotaRows: readonly RuleRow[] = [
  {
    rule: "quota: number of routes",
    async shows(world) {
      const home = await limited(world, "q-routes", { routes: { total_routes: 1 } });
      await made(world, route(home, "first"));
      await inForce(world, route(home, "first"));
      const relationships = { space: to(home.space), domain: to(await sharedDomainGUID(world)) };
      await eventually(() =>
        cfRefuses(
          world,
          "admin",
          ["POST", "/v3/routes", { host: "more", relationships }],
          /Routes quota exceeded for organization 'q-routes'/,
        ),
      );
      const second = await notInForce(world, "admin", route(home, "second"), "QuotaExceeded");
      expect(second.status.url).toBeUndefined();
      await removed(world, route(home, "first"));
      await inForce(world, route(home, "second"));
    },
  },
  {
    rule: "quota: number of routes with a port",
    async shows(world) {
      const home = await limited(world, "q-ports", { routes: { total_routes: 2, total_reserved_ports: 1 } });
      const [router, domainRef] = ["quota-tcp", { name: "tcp.quota" }];
      const parameters = { tcpPorts: "1001-1002", tcpGroup: router };
      await world.env.root.create(BackendClass, { metadata: { name: router }, spec: { role: "router", parameters } });
      const spec = { name: domainRef.name, protocols: ["tcp"], router };
      await made(world, { kind: "Domain", namespace: SYSTEM, name: domainRef.name, spec });
      const tcp = (name: string, port: number): ObjectToMake => route(home, name, { host: "", domainRef, port });
      await made(world, tcp("first", 1001));
      await inForce(world, tcp("first", 1001));
      await notInForce(world, "admin", tcp("second", 1002), "PortQuotaExceeded");
      // The one that waits for a port keeps no place among all routes.
      await made(world, route(home, "http"));
      await inForce(world, route(home, "http"));
    },
  },
  {
    rule: "quota: number of private domains",
    async shows(world) {
      const home = await limited(world, "q-domains", { domains: { total_domains: 1 } });
      const domain = (name: string): ObjectToMake => ({
        kind: "Domain",
        namespace: home.orgNamespace,
        name,
        spec: { name },
      });
      await made(world, domain("first.quota"));
      await inForce(world, domain("first.quota"));
      await eventually(() =>
        cfRefuses(
          world,
          "admin",
          ["POST", "/v3/domains", { name: "more.quota", relationships: { organization: to(home.org) } }],
          /number of private domains exceeds the quota/,
        ),
      );
      await notInForce(world, "admin", domain("second.quota"), "QuotaExceeded");
      await removed(world, domain("first.quota"));
      await inForce(world, domain("second.quota"));
    },
  },
  {
    rule: "quota: number of tasks",
    async shows(world) {
      const home = await limited(world, "q-tasks", { apps: { per_app_tasks: 1 } });
      await app(world, home);
      const runs = async (): Promise<number> =>
        (await world.env.kubernetes.get(`/apis/workloads.cupola.dev/v1alpha1/namespaces/${home.namespace}/taskruns`))
          .body.items.length;
      await made(world, task(home, "first"));
      await eventually(async () => expect(await runs()).toBe(1));
      const path = `/v3/apps/${await appGUID(world, home)}/tasks`;
      await eventually(() =>
        cfRefuses(world, "admin", ["POST", path, { command: "run" }], /app_task_limit quota exceeded/),
      );
      await notInForce(world, "admin", task(home, "second"), "QuotaExceeded");
      expect(await runs()).toBe(1);
      await removed(world, task(home, "first"));
      await eventually(async () => {
        const { body } = await world.env.kubernetes.get(pathOf(task(home, "second")));
        expect(body.status.conditions[0].reason).not.toBe("QuotaExceeded");
      });
    },
  },
  {
    rule: "quota: memory and log rate of tasks, beside those of apps",
    async shows(world) {
      const home = await limited(world, "q-memory", { apps: { total_memory_in_mb: 100, per_app_tasks: 1 } });
      await app(world, home);
      const path = `/v3/apps/${await appGUID(world, home)}/tasks`;
      await eventually(() =>
        cfRefuses(
          world,
          "admin",
          ["POST", path, { command: "run", memory_in_mb: 256 }],
          /memory_in_mb exceeds organization memory quota/,
        ),
      );
      const refused = await notInForce(world, "admin", task(home, "large", 256), "ResourceQuotaExceeded");
      expect(refused.status.state).toBe("Pending");
      // The one that is too large keeps no place among the tasks.
      await made(world, task(home, "small", 64));
      await eventually(async () => {
        const { body } = await world.env.kubernetes.get(pathOf(task(home, "small")));
        expect(body.status?.conditions?.[0]?.reason).toMatch(/Pending|Running/);
      });
    },
  },
  {
    rule: "quota: memory, instances and log rate of apps",
    async shows(world) {
      const home = await limited(world, "q-apps", { apps: { total_memory_in_mb: 100 } });
      await app(world, home);
      const guid = await appGUID(world, home);
      await made(world, {
        kind: "Process",
        namespace: home.namespace,
        name: "shop.web",
        spec: { appRef: { name: "shop" }, type: "web", memoryMB: 256 },
      });
      await eventually(() =>
        cfRefuses(world, "admin", ["POST", `/v3/apps/${guid}/actions/start`], /memory quota_exceeded/),
      );
      const shop = { kind: "App", namespace: home.namespace, name: "shop" };
      await world.env.at("admin").patch("merge", pathOf(shop), { spec: { state: "Started" } });
      await saysOf(world, { ...shop, kind: "Process", name: "shop.web" }, "QuotaExceeded");
    },
  },
  {
    rule: "quota: number of service instances of brokers",
    async shows(world) {
      await catalog(world);
      const home = await limited(world, "q-services", { services: { total_service_instances: 1 } });
      await made(world, instance(home, "first"));
      await begun(world, instance(home, "first"));
      const more = await newInstance(world, home, "free");
      await eventually(() => cfRefuses(world, "admin", more, /exceeded your organization's services limit/));
      const second = await notInForce(world, "admin", instance(home, "second"), "QuotaExceeded");
      expect(second.status.lastOperation).toBeUndefined();
      await purged(world, instance(home, "first"));
      await begun(world, instance(home, "second"));
      await purged(world, instance(home, "second"));
    },
  },
  {
    rule: "quota: paid service plans",
    async shows(world) {
      await catalog(world);
      const home = await limited(world, "q-paid", { services: { paid_services_allowed: false } });
      const more = await newInstance(world, home, "paid");
      await eventually(() => cfRefuses(world, "admin", more, /paid service plans are not allowed/));
      const paid = await notInForce(world, "admin", instance(home, "paid", "paid"), "PaidPlanNotAllowed");
      expect(paid.status.lastOperation).toBeUndefined();
      const { env } = world;
      const { json } = await env.cf("admin", "GET", "/v3/organization_quotas?names=q-paid");
      const quota = `/v3/organization_quotas/${json.resources[0].guid}`;
      await env.make(quota, { services: { paid_services_allowed: true } }, "PATCH");
      await begun(world, instance(home, "paid"));
      await purged(world, instance(home, "paid"));
    },
  },
  {
    rule: "a service instance is bound in another space only if its offering is shareable and its plan visible there",
    async shows(world) {
      await catalog(world);
      const { env } = world;
      await env.make("/v3/feature_flags/service_instance_sharing", { enabled: true }, "PATCH");
      const home = await limited(world, "shared-db", {});
      const guest = await limited(world, "guest-db", {});
      await app(world, guest);
      const db = instance(home, "db");
      const shared = { ...db, spec: { ...db.spec, sharedSpaces: [guest.namespace] } };
      await eventually(async () => expect((await kubectl(world, "admin", shared)).status).toBe(201));
      await begun(world, db);
      const instanceRef = { namespace: home.namespace, name: "db" };
      const binding = { kind: "ServiceBinding", namespace: guest.namespace, name: "far" };
      await made(world, { ...binding, spec: { appRef: { name: "shop" }, instanceRef } });
      await eventually(async () => {
        await provided(world, db);
        const { body } = await env.kubernetes.get(pathOf(binding));
        const conditions = body.status?.conditions?.map(({ reason }: Json) => reason);
        expect([conditions, body.status?.lastOperation]).toEqual([expect.arrayContaining(["NotShareable"]), undefined]);
      });
      await purged(world, db);
      await env.make("/v3/feature_flags/service_instance_sharing", { enabled: false }, "PATCH");
    },
  },
  {
    rule: "quota: number of service keys",
    async shows(world) {
      await catalog(world);
      const { env } = world;
      const home = await limited(world, "q-keys", { services: { total_service_keys: 1 } });
      const key = (name: string): ObjectToMake => ({
        kind: "ServiceBinding",
        namespace: home.namespace,
        name,
        spec: { type: "key", name, instanceRef: { name: "db" } },
      });
      await made(world, instance(home, "db"));
      await begun(world, instance(home, "db"));
      // Its controller goes on to ask the silent broker meanwhile.
      await eventually(async () => {
        await provided(world, instance(home, "db"));
        if ((await env.kubernetes.get(pathOf(key("first")))).status === 404) await made(world, key("first"));
        expect((await env.kubernetes.get(pathOf(key("first")))).body.status?.lastOperation?.type).toBe("create");
      });
      await notInForce(world, "admin", key("second"), "QuotaExceeded");
      await purged(world, instance(home, "db"));
    },
  },
];
