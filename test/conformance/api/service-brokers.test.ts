// Service brokers, offerings and plans by the CF API, with a real broker over HTTP: jobs, lists, who sees what, and refusals.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { BROKER_CREDENTIALS_SECRET, SPACE_CREDENTIALS_SECRETS } from "../../../crds/service-broker/credentials.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { Space } from "../../../crds/space/space.ts";
import { Namespace, Secret } from "../../../kube/api/builtin.ts";
import { eventually } from "../../eventually.ts";
import { TEST_CATALOG, type Control } from "../../service-broker/behaviour.ts";
import { startTestBroker, type TestBroker } from "../../service-broker/test-broker.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import type { Answer, TestUser } from "./test-env.ts";

let bench: ApiHarness;
let org: { guid: string };
let space: { guid: string };
const servers: TestBroker[] = [];

beforeAll(async () => {
  bench = await startApiHarness();
  org = await bench.org("org");
  space = await bench.space(org, "space");
  for (const user of ["ann", "bob"])
    await bench.make("/v3/roles", {
      type: "organization_user",
      relationships: { user: to(user), organization: to(org) },
    });
  await bench.make("/v3/roles", {
    type: "space_developer",
    relationships: { user: to("ann"), space: to(space) },
  });
});
afterAll(async () => {
  await bench.testEnv.stop();
  await Promise.all(servers.map((one) => one.close()));
});

const BROKERS = "/v3/service_brokers";
const BROKER_SECRETS = [BROKER_CREDENTIALS_SECRET, ...SPACE_CREDENTIALS_SECRETS];
let made = 0;

interface Registered {
  name: string;
  guid: string;
  server: TestBroker;
  answer: Answer;
}

function bodyOf(server: TestBroker, name: string, more: object = {}): object {
  const { url, username, password } = server;
  return { name, url, authentication: { type: "basic", credentials: { username, password } }, ...more };
}

/** A broker of a server and a name of its own, and catalog ids that no other has. */
async function register(given: { control?: Control; more?: object; person?: TestUser } = {}): Promise<Registered> {
  const server = await startTestBroker();
  servers.push(server);
  const name = `broker-${++made}`;
  const services = TEST_CATALOG.services.map((one) => ({ ...one, name: `database-of-${name}` }));
  server.set({ catalog: { services }, ...given.control });
  const answer = await bench.call("POST", BROKERS, bodyOf(server, name, given.more), given.person);
  expect([answer.status, answer.json.errors]).toEqual([202, undefined]);
  const { resources } = await bench.read(`${BROKERS}?names=${name}`);
  return { name, guid: resources[0].guid, server, answer };
}

async function registered(given: Parameters<typeof register>[0] = {}): Promise<Registered> {
  const broker = await register(given);
  expect(await bench.job(broker.answer)).toMatchObject({ state: "COMPLETE", errors: [] });
  return broker;
}

// Bodies are what is under test.
/* eslint-disable @typescript-eslint/no-explicit-any */
async function planOf({ name }: Registered, plan = "small"): Promise<any> {
  return (await bench.read(`/v3/service_plans?service_broker_names=${name}&names=${plan}`)).resources[0];
}
async function offeringOf({ name }: Registered): Promise<any> {
  return (await bench.read(`/v3/service_offerings?service_broker_names=${name}`)).resources[0];
}
/* eslint-enable @typescript-eslint/no-explicit-any */

const namesFor = async (path: string, person: TestUser): Promise<string[]> =>
  (await bench.call("GET", path, undefined, person)).json.resources.map((one: { name: string }) => one.name).sort();

/** An instance as kubectl makes it, of a plan for all or for nobody; purged at the end, so that no broker is asked. */
async function withInstance(
  broker: Registered,
  act: () => Promise<void>,
  type: "public" | "admin" = "public",
): Promise<void> {
  const plan = await planOf(broker);
  expect((await bench.call("PATCH", `/v3/service_plans/${plan.guid}/visibility`, { type })).status).toBe(200);
  const { cache } = bench.testEnv.replicas[0].api;
  const { metadata } = cache.findByGUID(ServicePlan, plan.guid) as ServicePlan;
  const namespace = cache.store(ServicePlan).find({ namespace: SYSTEM_NAMESPACE, name: metadata.name }) && "org-space";
  const key = { namespace: namespace ?? "", name: broker.name };
  const planRef = { namespace: SYSTEM_NAMESPACE, name: metadata.name };
  const { kube } = bench.testEnv;
  await kube.create(ServiceInstance, { metadata: key, spec: { name: broker.name, type: "managed", planRef } });
  await eventually(() => expect(cache.store(ServiceInstance).find(key)).toBeDefined());
  await act();
  if (!(await kube.find(ServiceInstance, key))) return;
  await kube.patch(ServiceInstance, key, { type: "merge", body: { spec: { purge: true } } });
  await kube.delete(ServiceInstance, key);
}

/** Passwords in the Secrets of brokers. */
async function listPasswords(): Promise<string[]> {
  const { items } = await bench.testEnv.kube.list(Secret, { namespace: SYSTEM_NAMESPACE });
  const entries = items
    .filter(({ metadata }) => BROKER_SECRETS.includes(metadata.name))
    .flatMap(({ data = {} }) => Object.entries(data));
  return entries
    .filter(([key]) => key.endsWith("password"))
    .map(([, value]) => Buffer.from(value, "base64").toString())
    .sort();
}

describe("a broker", () => {
  test("is registered by a job, shown without its credentials, changed and deleted", async () => {
    const broker = await register({ more: { metadata: { labels: { tier: "gold" } } } });
    const job = await bench.job(broker.answer);
    expect(job).toMatchObject({ operation: "service_broker.catalog.synchronize", state: "COMPLETE" });
    expect(job.links.service_brokers.href).toContain(broker.guid);
    const at = `${BROKERS}/${broker.guid}`;
    const shown = await bench.read(at);
    expect(shown).toMatchObject({
      name: broker.name,
      url: broker.server.url,
      relationships: {},
      metadata: { labels: { tier: "gold" } },
    });
    expect(JSON.stringify(shown)).not.toContain(broker.server.password);
    const labelled = await bench.call("PATCH", at, { metadata: { annotations: { note: "x" } } });
    expect([labelled.status, labelled.json.metadata.annotations]).toEqual([200, { note: "x" }]);
    const renamed = await bench.call("PATCH", at, { name: `${broker.name}-renamed` });
    expect(await bench.job(renamed)).toMatchObject({ operation: "service_broker.update", state: "COMPLETE" });
    const deleted = await bench.job(await bench.call("DELETE", at));
    expect(deleted).toMatchObject({ operation: "service_broker.delete", state: "COMPLETE" });
    expect((await bench.call("GET", at)).status).toBe(404);
    await eventually(async () => expect(await offeringOf(broker)).toBeUndefined());
  });

  test.each([
    ["the platform's", false],
    ["a space's", true],
  ])("(%s) has its credentials once, whatever is changed, and not once it is gone", async (_, isOfSpace) => {
    const more = isOfSpace ? { relationships: { space: to(space) } } : {};
    const broker = await registered({ more });
    const at = `${BROKERS}/${broker.guid}`;
    const password = `changed-${++made}`;
    const mine = async (): Promise<string[]> => (await listPasswords()).filter((one) => one === password);
    broker.server.set({ password });
    const authentication = { type: "basic", credentials: { username: "broker", password } };
    expect((await bench.job(await bench.call("PATCH", at, { authentication }))).state).toBe("COMPLETE");
    expect(await mine()).toEqual([password]);
    const taken = await registered();
    const refused = await bench.call("PATCH", at, { name: taken.name, authentication });
    expect([fault(refused)[2], await mine()]).toEqual(["Name must be unique", [password]]);
    await bench.job(await bench.call("DELETE", at));
    expect(await mine()).toEqual([]);
  });

  test("of a space is asked to delete its instances when kubectl deletes the namespace, Secrets first", async () => {
    const home = await bench.space(org, `ending-${++made}`);
    const broker = await registered({ more: { relationships: { space: to(home) } } });
    const { resources } = await bench.read(`/v3/service_plans?service_broker_names=${broker.name}`);
    const relationships = { space: to(home), service_plan: to(resources[0]) };
    const body = { type: "managed", name: "db", relationships };
    expect((await bench.job(await bench.call("POST", "/v3/service_instances", body))).state).toBe("COMPLETE");
    const { cache } = bench.testEnv.replicas[0].api;
    const namespace = cache.store(Space).byIndex("guid", home.guid)[0]?.status?.namespace ?? "";
    const before = await listPasswords();
    const secrets = await bench.testEnv.kube.list(Secret, { namespace });
    for (const { metadata } of secrets.items)
      await bench.testEnv.kube.delete(Secret, { namespace, name: metadata.name });
    await bench.testEnv.kube.delete(Namespace, { name: namespace });
    await eventually(() => expect(broker.server.requests("deprovision")).toHaveLength(1));
    await eventually(async () => expect(await listPasswords()).toHaveLength(before.length - 1));
  });

  test.each<[string, Control, RegExp]>([
    ["refuses its password", { password: "other" }, /refused its username or password/],
    [
      "fails",
      { behaviours: { catalog: { answer: { status: 500, text: "out of disks" } } } },
      /^The service broker returned an invalid response\. Status Code: 500 Internal Server Error, Body: out of disks$/,
    ],
    ["answers garbage", { behaviours: { catalog: { answer: { status: 200, text: "<" } } } }, /no JSON object/],
    ["has no valid catalog", { catalog: { services: [{ id: "x" }] } }, /catalog is invalid: services\.0/],
  ])("that %s fails the job, and is there to be corrected", async (_, control, words) => {
    const broker = await register({ control });
    const job = await bench.job(broker.answer);
    expect([job.state, job.errors[0]?.detail]).toEqual(["FAILED", expect.stringMatching(words)]);
    broker.server.set({ password: "secret", behaviours: {}, catalog: TEST_CATALOG });
    const authentication = { type: "basic", credentials: { username: "broker", password: "secret" } };
    const corrected = await bench.call("PATCH", `${BROKERS}/${broker.guid}`, { authentication });
    expect((await bench.job(corrected)).state).toBe("COMPLETE");
  });

  test.each([
    ["no authentication", { authentication: undefined }, /Authentication/i],
    ["another authentication", { authentication: { type: "oauth" } }, /authentication.type must be one of/i],
    ["no address", { url: "localhost" }, /must be a valid url/],
    ["credentials in its address", { url: "http://a:b@localhost" }, /must not contain authentication/],
    ["a space that is not there", { relationships: { space: to("gone") } }, /Invalid space/],
  ])("with %s is refused", async (_, more, words) => {
    const server = servers[0] as TestBroker;
    const answer = await bench.call("POST", BROKERS, bodyOf(server, `bad-${++made}`, more));
    expect([answer.status, answer.json.errors[0].detail]).toEqual([422, expect.stringMatching(words)]);
  });

  test("of a name that is taken is refused, and leaves no credentials", async () => {
    const broker = await registered();
    const before = await listPasswords();
    const answer = await bench.call("POST", BROKERS, bodyOf(broker.server, broker.name));
    expect([fault(answer)[0], fault(answer)[2]]).toEqual([422, "Name must be unique"]);
    expect(await listPasswords()).toEqual(before);
  });

  test("of the name of one whose catalog could not be fetched is refused with the way on", async () => {
    const server = servers[0] as TestBroker;
    const body = bodyOf(server, `unreachable-${++made}`, { url: "http://127.0.0.1:1" });
    expect((await bench.job(await bench.call("POST", BROKERS, body))).state).toBe("FAILED");
    expect(fault(await bench.call("POST", BROKERS, body))[2]).toMatch(
      /^Name must be unique\. .* cf update-service-broker unreachable-\d+ USERNAME PASSWORD URL$/,
    );
  });

  test("with instances is not deleted", async () => {
    const broker = await registered();
    await withInstance(broker, async () => {
      const answer = await bench.call("DELETE", `${BROKERS}/${broker.guid}`);
      expect(fault(answer).slice(0, 2)).toEqual([422, "CF-ServiceBrokerNotRemovable"]);
    });
  });

  test("of which an instance only names a plan is deleted, and so is the plan", async () => {
    const broker = await registered();
    const deletePlan = async (): Promise<void> => {
      const { guid } = await planOf(broker);
      expect((await bench.call("DELETE", `/v3/service_plans/${guid}`)).status).toBe(204);
      const deleted = await bench.job(await bench.call("DELETE", `${BROKERS}/${broker.guid}`));
      expect(deleted.state).toBe("COMPLETE");
    };
    await withInstance(broker, deletePlan, "admin");
  });

  test("whose catalog has lost a plan that instances have says so in the job", async () => {
    const broker = await registered();
    await withInstance(broker, async () => {
      const [{ plans, ...service } = { plans: [] }] = TEST_CATALOG.services;
      const services = [{ ...service, name: `database-of-${broker.name}`, plans: plans.slice(1) }];
      broker.server.set({ catalog: { services }, password: "other" });
      const authentication = { type: "basic", credentials: { username: "broker", password: "other" } };
      const answer = await bench.call("PATCH", `${BROKERS}/${broker.guid}`, { authentication });
      const { state, warnings } = await bench.job(answer);
      expect([state, warnings]).toEqual(["COMPLETE", [{ detail: expect.any(String) }]]);
      expect(warnings[0].detail).toMatch(
        /^Warning: Service plans are missing from the broker's catalog \(http:\S+\/v2\/catalog\) but can not be removed/,
      );
      expect(warnings[0].detail).toContain(
        `\n\nService Offering: database-of-${broker.name}\nPlans deactivated: small\n`,
      );
    });
  });

  test("of a space is one of at most 20, by kubectl, too", async () => {
    const full = await bench.space(org, "full");
    const { kube } = bench.testEnv;
    const key = (at: number) => ({ namespace: "org-full", name: `own-${at}` });
    const spec = (at: number) => ({
      name: key(at).name,
      url: "http://127.0.0.1:9",
      credentialsSecretRef: { name: "none" },
    });
    const create = (at: number) => kube.create(ServiceBroker, { metadata: key(at), spec: spec(at) });
    await Promise.all(Array.from({ length: 20 }, (_, at) => create(at)));
    await bench.testEnv.idle();
    const more = { relationships: { space: to(full) } };
    const answer = await bench.call("POST", BROKERS, bodyOf(servers[0] as TestBroker, "one-more", more));
    expect(fault(answer).slice(0, 3)).toEqual([422, "CF-UnprocessableEntity", expect.stringMatching(/at most 20/)]);
    // The uid decides within a second, so one of them has no place.
    await create(20);
    await eventually(async () => {
      const { items } = await kube.list(ServiceBroker, { namespace: "org-full" });
      const reasons = items.map(({ status }) => status?.conditions?.[0]?.reason);
      expect(reasons.filter((reason) => reason === "TooManyBrokers")).toHaveLength(1);
    });
    await Promise.all(Array.from({ length: 21 }, (_, at) => kube.delete(ServiceBroker, key(at))));
  });

  test("of a space has no address that apps do not reach, whatever answers there", async () => {
    const server = await startTestBroker();
    servers.push(server);
    for (const host of ["[::ffff:127.0.0.1]", "[::1]", "10.255.255.1"]) {
      const name = `inside-${++made}`;
      const more = { relationships: { space: to(space) } };
      const url = server.url.replace("127.0.0.1", host);
      const answer = await bench.call("POST", BROKERS, bodyOf({ ...server, url }, name, more), "ann");
      const job = await bench.job(answer);
      const isOpen = host.includes("127.0.0.1");
      expect([host, job.state, job.errors[0]?.detail]).toEqual([
        host,
        isOpen ? "COMPLETE" : "FAILED",
        isOpen ? undefined : expect.stringContaining("broker-egress-cidrs in ConfigMap cupola-network"),
      ]);
      const [{ guid }] = (await bench.read(`${BROKERS}?names=${name}`)).resources;
      await bench.job(await bench.call("DELETE", `${BROKERS}/${guid}`));
    }
  });

  test("of the platform is an operator's only; of a space, also its developers'", async () => {
    const broker = await registered();
    const server = broker.server;
    expect((await bench.call("POST", BROKERS, bodyOf(server, "global"), "ann")).status).toBe(403);
    for (const person of ["ann", "carl"] as const)
      expect((await bench.call("GET", `${BROKERS}/${broker.guid}`, undefined, person)).status).toBe(404);
    const own = await registered({ more: { relationships: { space: to(space) } }, person: "ann" });
    expect(await namesFor(BROKERS, "ann")).toEqual([own.name]);
    expect([await namesFor(BROKERS, "bob"), await namesFor(BROKERS, "carl")]).toEqual([[], []]);
    const [shown] = (await bench.call("GET", `${BROKERS}?space_guids=${space.guid}`, undefined, "ann")).json.resources;
    expect(shown.relationships).toEqual({ space: to(space) });
    const plan = await planOf(own);
    expect([plan.visibility_type, plan.relationships.space]).toEqual(["space", to(space)]);
    expect((await bench.call("GET", `/v3/service_plans/${plan.guid}`, undefined, "ann")).status).toBe(200);
    expect((await bench.call("GET", `/v3/service_plans/${plan.guid}`, undefined, "bob")).status).toBe(404);
    const visibility = await bench.call("PATCH", `/v3/service_plans/${plan.guid}/visibility`, { type: "public" });
    expect(fault(visibility)[2]).toBe("cannot update plans with visibility type 'space'");
    await bench.job(await bench.call("DELETE", `${BROKERS}/${own.guid}`, undefined, "ann"));
  });
});

describe("the marketplace", () => {
  test("shows offerings and plans as the catalog has them", async () => {
    const broker = await registered();
    const offering = await offeringOf(broker);
    expect(offering).toMatchObject({
      name: `database-of-${broker.name}`,
      available: true,
      tags: ["sql"],
      shareable: true,
      documentation_url: "https://docs.example.com",
      broker_catalog: { id: "service-1", features: { plan_updateable: true, bindable: true } },
      relationships: { service_broker: to(broker) },
    });
    const large = await planOf(broker, "large");
    expect(large).toMatchObject({
      free: false,
      visibility_type: "admin",
      costs: [{ amount: 9.5, currency: "USD", unit: "MONTHLY" }],
      maintenance_info: { version: "2.0.0", description: "Newer" },
      broker_catalog: { id: "plan-large", features: { bindable: true, plan_updateable: true } },
      schemas: { service_instance: { create: { parameters: { type: "object" } }, update: { parameters: {} } } },
      relationships: { service_offering: to(offering) },
    });
    const listed = await bench.read(
      `/v3/service_plans?service_offering_guids=${offering.guid}&order_by=-name&include=service_offering&fields[service_offering.service_broker]=name,guid`,
    );
    expect(listed.resources.map((one: { name: string }) => one.name)).toEqual(["small", "large"]);
    expect(listed.included).toEqual({
      service_offerings: [offering],
      service_brokers: [{ guid: broker.guid, name: broker.name }],
    });
    const withBroker = await bench.read(`/v3/service_offerings/${offering.guid}?fields[service_broker]=name`);
    expect(withBroker.included).toEqual({ service_brokers: [{ name: broker.name }] });
  });

  test("has the order of the catalog", async () => {
    const [one] = TEST_CATALOG.services;
    const names = ["zeta", "alpha", "mid", "beta", "omega", "chi"];
    const plansOf = (offering: string) => names.map((name) => ({ ...one?.plans[0], id: `${offering}-${name}`, name }));
    const services = names.map((name) => ({ ...one, id: name, name: `${name}-of-order`, plans: plansOf(name) }));
    const broker = await registered({ control: { catalog: { services } } });
    const listed = (path: string): Promise<string[]> =>
      bench.column(`${path}?service_broker_guids=${broker.guid}&per_page=100`, "name");
    expect(await listed("/v3/service_offerings")).toEqual(names.map((name) => `${name}-of-order`));
    expect(await listed("/v3/service_plans")).toEqual(names.flatMap(() => names));
  });

  test.each([
    ["names", "names=SMALL", ["small"]],
    ["broker_catalog_ids", "broker_catalog_ids=plan-large", ["large"]],
    ["available", "available=false", []],
    ["label_selector", "label_selector=none", []],
    ["service_instance_guids", "service_instance_guids=none", []],
    ["service_offering_names", "service_offering_names=none", []],
    ["organization_guids", "organization_guids=none", []],
    ["space_guids", "space_guids=none", []],
  ])("filters by %s", async (_, filter, names) => {
    const broker = await registered();
    expect(await bench.column(`/v3/service_plans?service_broker_guids=${broker.guid}&${filter}`, "name")).toEqual(
      names,
    );
  });

  test("hides plans until they are enabled: for all, or for orgs", async () => {
    const broker = await registered();
    const { guid } = await planOf(broker);
    const plans = `/v3/service_plans?service_broker_names=${broker.name}`;
    const offerings = `/v3/service_offerings?service_broker_names=${broker.name}`;
    const at = `/v3/service_plans/${guid}/visibility`;
    const seenBy = async (person: TestUser): Promise<number[]> => [
      (await namesFor(plans, person)).length,
      (await namesFor(offerings, person)).length,
    ];
    expect([await seenBy("ann"), await seenBy("admin")]).toEqual([
      [0, 0],
      [2, 1],
    ]);
    expect((await bench.call("POST", at, { type: "organization", organizations: [org] })).status).toBe(200);
    expect([await seenBy("ann"), await seenBy("carl")]).toEqual([
      [1, 1],
      [0, 0],
    ]);
    expect(await bench.read(at)).toEqual({ type: "organization", organizations: [{ guid: org.guid, name: "org" }] });
    expect(await bench.column(`${plans}&organization_guids=${org.guid}`, "name")).toEqual(["small"]);
    expect(await bench.column(`${plans}&space_guids=${space.guid}`, "name")).toEqual(["small"]);
    expect((await bench.call("DELETE", `${at}/${org.guid}`)).status).toBe(204);
    expect(await seenBy("ann")).toEqual([0, 0]);
    expect((await bench.call("PATCH", at, { type: "public" })).json).toEqual({ type: "public" });
    expect([await seenBy("ann"), await seenBy("carl")]).toEqual([
      [1, 1],
      [1, 1],
    ]);
    const anonymous = await bench.testEnv.replicas[0].call(undefined, "GET", plans);
    expect([anonymous.status, anonymous.json.resources.length]).toEqual([200, 1]);
    expect((await bench.call("POST", at, { type: "admin" })).status).toBe(200);
    expect(await seenBy("ann")).toEqual([0, 0]);
  });

  test("is not written by others, and not with what is no visibility", async () => {
    const broker = await registered();
    const { guid } = await planOf(broker);
    const at = `/v3/service_plans/${guid}/visibility`;
    expect((await bench.call("PATCH", at, { type: "public" }, "ann")).status).toBe(404);
    await bench.call("PATCH", at, { type: "public" });
    expect((await bench.call("PATCH", at, { type: "admin" }, "ann")).status).toBe(403);
    const organizations = [{ guid: "gone" }];
    for (const body of [{ type: "space" }, { type: "organization" }, { type: "public", organizations }]) {
      const { status, json } = await bench.call("PATCH", at, body);
      expect([status, json.errors?.[0]?.title]).toEqual([400, "CF-BadRequest"]);
    }
    expect((await bench.call("PATCH", at, { type: "organization", organizations })).status).toBe(422);
  });

  test("is hidden from people without a login when the operator says so", async () => {
    const flag = "/v3/feature_flags/hide_marketplace_from_unauthenticated_users";
    await bench.call("PATCH", flag, { enabled: true });
    const [replica] = bench.testEnv.replicas;
    expect((await replica.call(undefined, "GET", "/v3/service_plans")).status).toBe(401);
    await bench.call("PATCH", flag, { enabled: false });
    expect((await replica.call(undefined, "GET", "/v3/service_plans")).status).toBe(200);
  });

  test("keeps labels of offerings and plans when the catalog comes again", async () => {
    const broker = await registered();
    const [plan, offering] = [await planOf(broker), await offeringOf(broker)];
    const metadata = { labels: { tier: "gold" } };
    for (const path of [`/v3/service_plans/${plan.guid}`, `/v3/service_offerings/${offering.guid}`]) {
      expect((await bench.call("PATCH", path, { metadata })).json.metadata.labels).toEqual(metadata.labels);
      await bench.job(await bench.call("PATCH", `${BROKERS}/${broker.guid}`, { url: `${broker.server.url}/` }));
      expect((await bench.read(path)).metadata.labels).toEqual(metadata.labels);
    }
  });
});

describe("an offering", () => {
  test("with plans is not deleted; with purge it goes with its instances, and comes back when the broker is updated", async () => {
    const broker = await registered();
    const { guid } = await offeringOf(broker);
    const at = `/v3/service_offerings/${guid}`;
    expect(fault(await bench.call("DELETE", at))[0]).toBe(422);
    await withInstance(broker, async () => {
      const plan = await planOf(broker);
      expect(fault(await bench.call("DELETE", `/v3/service_plans/${plan.guid}`))[0]).toBe(422);
      expect((await bench.call("DELETE", `${at}?purge=true`)).status).toBe(204);
      await eventually(async () => expect(await bench.testEnv.kube.list(ServiceInstance)).toMatchObject({ items: [] }));
    });
    expect((await bench.call("GET", at)).status).toBe(404);
    await bench.testEnv.idle();
    expect(await offeringOf(broker)).toBeUndefined();
    expect(broker.server.requests("deprovision")).toEqual([]);
    await bench.job(await bench.call("PATCH", `${BROKERS}/${broker.guid}`, { url: broker.server.url }));
    expect((await bench.read(at)).name).toBe(`database-of-${broker.name}`);
  });
});
