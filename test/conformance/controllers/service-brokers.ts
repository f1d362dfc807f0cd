// Service brokers by kubectl: offerings and plans of a real catalog over HTTP, and what stays, goes and fails.
import { afterAll, describe, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { eventually } from "../../eventually.ts";
import { TEST_CATALOG, type Control } from "../../service-broker/behaviour.ts";
import { startTestBroker, type TestBroker } from "../../service-broker/test-broker.ts";
import { readyOf, untilReady, type ControllerFixtures } from "./test-env.ts";

const namespace = SYSTEM_NAMESPACE;
const apply = { fieldManager: "kubectl" };
let made = 0;
type Registered = { namespace: string; name: string; server: TestBroker };

export function serviceBrokerTests(given: () => ControllerFixtures): void {
  const servers: TestBroker[] = [];

  /** A broker of a name and a server of its own, and its Secret, as one kubectl apply. */
  async function register(
    more: { control?: Control; labels?: Record<string, string>; password?: string } = {},
  ): Promise<Registered> {
    const server = await startTestBroker();
    servers.push(server);
    server.set(more.control ?? {});
    const { client } = given();
    const key = { namespace, name: `broker-${process.pid}-${++made}` };
    const labels = more.labels ?? { "cupola.dev/env": "allowed" };
    const encode = (text: string): string => Buffer.from(text).toString("base64");
    const data = { username: encode("broker"), password: encode(more.password ?? "secret") };
    await client.apply(Secret, { metadata: { ...key, labels }, type: "Opaque", data }, apply);
    const spec = { name: key.name, url: server.url, credentialsSecretRef: { name: key.name } };
    await client.apply(ServiceBroker, { metadata: key, spec }, apply);
    return { ...key, server };
  }

  async function catalogOf({
    name,
  }: {
    name: string;
  }): Promise<{ offerings: ServiceOffering[]; plans: ServicePlan[] }> {
    const { client } = given();
    const offerings = (await client.list(ServiceOffering, { namespace })).items.filter(
      ({ spec }) => spec.brokerRef.name === name,
    );
    const names = offerings.map(({ metadata }) => metadata.name);
    const plans = (await client.list(ServicePlan, { namespace })).items.filter(({ spec }) =>
      names.includes(spec.offeringRef.name),
    );
    return { offerings, plans };
  }

  async function planOf(key: { name: string }, name: string): Promise<ServicePlan> {
    const plan = (await catalogOf(key)).plans.find(({ spec }) => spec.name === name);
    if (!plan) throw new Error(`${key.name} has no plan ${name}`);
    return plan;
  }

  const enable = (name: string) =>
    given().client.patch(
      ServicePlan,
      { namespace, name },
      { type: "merge", body: { spec: { visibility: { type: "public" } } } },
    );

  /** The broker is asked again, since its name is another. */
  async function askAgain({ server, ...key }: Registered, control: Control): Promise<void> {
    const { client } = given();
    server.set(control);
    const name = `${key.name}-${++made}`;
    await client.patch(ServiceBroker, key, { type: "merge", body: { spec: { name } } });
    await untilReady(client, ServiceBroker, key);
  }

  const onlySmall = { services: TEST_CATALOG.services.map((one) => ({ ...one, plans: one.plans.slice(0, 1) })) };

  describe("a ServiceBroker", () => {
    // Each failed broker would be asked again, while other tests want silence.
    afterAll(async () => {
      const { client } = given();
      for (const { metadata } of (await client.list(ServiceBroker)).items) await client.delete(ServiceBroker, metadata);
      await eventually(async () => expect((await client.list(ServiceBroker)).items).toEqual([]));
      await Promise.all(servers.map((one) => one.close()));
    });

    test("has the offerings and plans of its catalog, which idles then", async () => {
      const { client, testEnv } = given();
      const key = await register();
      const broker = await untilReady(client, ServiceBroker, key, { status: "True", reason: "CatalogFetched" });
      expect(broker.status).toMatchObject({ offerings: 1 });
      const { offerings, plans } = await catalogOf(key);
      expect(offerings[0]?.spec).toMatchObject({ name: "database", shareable: true, available: true, tags: ["sql"] });
      expect(plans.map(({ spec }) => [spec.name, spec.free]).sort()).toEqual([
        ["large", false],
        ["small", true],
      ]);
      expect(plans.every(({ spec }) => spec.visibility === undefined)).toBe(true);
      await testEnv.idle();
      const before = testEnv.writes.length;
      await client.patch(ServiceBroker, key, { type: "merge", body: { metadata: { annotations: { note: "x" } } } });
      await testEnv.idle();
      expect(testEnv.writes.slice(before)).toEqual([]);
    });

    test("keeps what operators set of a plan, and repairs the rest", async () => {
      const { client } = given();
      const key = await register();
      await untilReady(client, ServiceBroker, key);
      const { metadata } = await planOf(key, "small");
      const at = { namespace, name: metadata.name };
      const body = { spec: { description: "changed", visibility: { type: "public" } } };
      await client.patch(ServicePlan, at, { type: "merge", body });
      await eventually(async () =>
        expect((await client.get(ServicePlan, at)).spec).toMatchObject({
          description: "A small one",
          visibility: { type: "public" },
        }),
      );
      await askAgain(key, { catalog: onlySmall });
      expect((await client.get(ServicePlan, at)).spec.visibility).toEqual({ type: "public" });
    });

    test("loses what left the catalog, but for what an instance uses until that is gone", async () => {
      const { client } = given();
      const key = await register();
      await untilReady(client, ServiceBroker, key);
      const large = await planOf(key, "large");
      const instance = { namespace: given().namespace, name: key.name };
      const planRef = { namespace, name: large.metadata.name };
      await enable(large.metadata.name);
      await client.apply(
        ServiceInstance,
        { metadata: instance, spec: { name: key.name, type: "managed", planRef } },
        apply,
      );
      await askAgain(key, { catalog: onlySmall });
      await eventually(async () => expect((await planOf(key, "large")).spec.available).toBe(false));
      await client.patch(ServiceInstance, instance, { type: "merge", body: { spec: { purge: true } } });
      await client.delete(ServiceInstance, instance);
      await eventually(async () =>
        expect((await catalogOf(key)).plans.map(({ spec }) => spec.name)).toEqual(["small"]),
      );
    });

    test("goes with its catalog, and not while an instance is its", async () => {
      const { client } = given();
      const key = await register();
      await untilReady(client, ServiceBroker, key);
      const { metadata } = await planOf(key, "small");
      const instance = { namespace: given().namespace, name: key.name };
      const planRef = { namespace, name: metadata.name };
      await enable(metadata.name);
      await client.apply(
        ServiceInstance,
        { metadata: instance, spec: { name: key.name, type: "managed", planRef } },
        apply,
      );
      // At once: the controllers' cache may not have the instance yet.
      await client.delete(ServiceBroker, key);
      await eventually(async () =>
        expect(readyOf(await client.find(ServiceBroker, key))).toMatchObject({ reason: "InstancesExist" }),
      );
      await client.patch(ServiceInstance, instance, { type: "merge", body: { spec: { purge: true } } });
      await client.delete(ServiceInstance, instance);
      await eventually(async () => expect(await client.find(ServiceBroker, key)).toBeUndefined());
      await eventually(async () => expect(await catalogOf(key)).toEqual({ offerings: [], plans: [] }));
    });

    test("goes though an instance names a plan of it that it may not have", async () => {
      const { client } = given();
      const key = await register();
      await untilReady(client, ServiceBroker, key);
      const { metadata } = await planOf(key, "small");
      const instance = { namespace: given().namespace, name: key.name };
      const planRef = { namespace, name: metadata.name };
      await client.apply(
        ServiceInstance,
        { metadata: instance, spec: { name: key.name, type: "managed", planRef } },
        apply,
      );
      await untilReady(client, ServiceInstance, instance, { status: "False", reason: "PlanMissing" });
      await client.delete(ServiceBroker, key);
      await eventually(async () => expect(await client.find(ServiceBroker, key)).toBeUndefined());
      await client.delete(ServiceInstance, instance);
    });

    test.each<[string, Parameters<typeof register>[0], string]>([
      ["refuses the password", { password: "wrong" }, "BrokerRefused"],
      [
        "answers garbage",
        { control: { behaviours: { catalog: { answer: { status: 200, text: "<" } } } } },
        "CatalogInvalid",
      ],
      ["fails", { control: { behaviours: { catalog: { answer: { status: 500 } } } } }, "BrokerFailed"],
      ["has a Secret that is nobody's leave", { labels: {} }, "CredentialsMissing"],
    ])("that %s says so", async (_, more, reason) => {
      const key = await register(more);
      await untilReady(given().client, ServiceBroker, key, { status: "False", reason });
    });

    test("of many plans gets them in slices, and delays no other", async () => {
      const { client } = given();
      const [first] = TEST_CATALOG.services;
      const plans = Array.from({ length: 120 }, (_, at) => ({
        ...first?.plans[at % 2],
        id: `plan-${at}`,
        name: `plan-${at}`,
      }));
      const large = await register({ control: { catalog: { services: [{ ...first, plans }] } } });
      await eventually(async () => expect((await catalogOf(large)).plans.length).toBeGreaterThan(0));
      const other = await register();
      await untilReady(client, ServiceBroker, other);
      await untilReady(client, ServiceBroker, large);
      expect((await catalogOf(large)).plans).toHaveLength(120);
    });

    test("that is silent delays no other", async () => {
      const { client } = given();
      const silent = await register({ control: { behaviours: { catalog: { silent: true } } } });
      await eventually(() => expect(silent.server.requests("catalog")).toHaveLength(1));
      const other = await register();
      await untilReady(client, ServiceBroker, other);
      expect(readyOf(await client.get(ServiceBroker, silent))?.status).not.toBe("True");
    });
  });
}
