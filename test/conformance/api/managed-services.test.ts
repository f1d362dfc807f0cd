// Managed service instances and their bindings: what their broker is asked, and what becomes of its answers.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { Space } from "../../../crds/space/space.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, startApiHarness } from "./harness.ts";
import { startScriptedBroker, type ScriptedBroker } from "./scripted-broker.ts";

const SYSTEM = "cupola-system";
let bench: ApiHarness;
let broker: ScriptedBroker;
let namespace: string;
beforeAll(async () => {
  [bench, broker] = [await startApiHarness(), await startScriptedBroker()];
  const space = await bench.space(await bench.org("org"), "space");
  namespace = bench.testEnv.replicas[0].api.cache.store(Space).byIndex("guid", space.guid)[0]?.status?.namespace ?? "";
  await makeCatalog();
});
afterAll(async () => {
  await bench.testEnv.stop();
  await broker.stop();
});

/** A broker with a plan for everybody and one for nobody, as its controller would make them. */
async function makeCatalog(): Promise<void> {
  const { kube } = bench.testEnv;
  const at = (name: string) => ({ metadata: { name, namespace: SYSTEM } });
  const data = { username: "dXNlcg==", password: "c2VjcmV0" };
  await kube.create(Secret, {
    metadata: { ...at("scripted").metadata, labels: { "cupola.dev/env": "allowed" } },
    type: "Opaque",
    data,
  });
  await kube.create(ServiceBroker, {
    ...at("scripted"),
    spec: { name: "scripted", url: broker.url, credentialsSecretRef: { name: "scripted" } },
  });
  await kube.create(ServiceOffering, {
    ...at("db"),
    spec: {
      name: "db",
      brokerRef: { name: "scripted" },
      catalogID: "db-id",
      tags: ["sql"],
      bindingsRetrievable: true,
      planUpdateable: true,
    },
  });
  for (const [name, type] of [
    ["small", "public"],
    ["large", "public"],
    ["hidden", "admin"],
  ])
    await kube.create(ServicePlan, {
      ...at(name ?? ""),
      spec: { name, offeringRef: { name: "db" }, catalogID: `${name}-id`, visibility: { type } },
    });
}

let made = 0;
/** A name that no other test, and no other try of this one, uses. */
const freeName = (stem: string): string => `${stem}-${++made}`;
const planRef = (name: string): object => ({ namespace: SYSTEM, name });

async function order(plan = "small", more: object = {}): Promise<ServiceInstance> {
  const name = freeName("db");
  return bench.testEnv.kube.create(ServiceInstance, {
    metadata: { name, namespace },
    spec: { type: "managed", planRef: planRef(plan), ...more },
  });
}

const current = ({ metadata }: ServiceInstance): Promise<ServiceInstance> =>
  bench.testEnv.kube.get(ServiceInstance, { namespace, name: metadata.name });
const guidOf = ({ metadata }: { metadata: { uid?: string } }): string => metadata.uid ?? "";
const readyOf = ({ status }: { status?: { conditions?: { type: string; status: string; reason: string }[] } }) =>
  status?.conditions?.find(({ type }) => type === "Ready");

async function reaches(instance: ServiceInstance, type: string, state: string): Promise<ServiceInstance> {
  return eventually(async () => {
    const now = await current(instance);
    expect(now.status?.lastOperation).toMatchObject({ type, state });
    return now;
  });
}

describe("an instance", () => {
  test("is provisioned, updated and deprovisioned", async () => {
    const instance = await order();
    const done = await reaches(instance, "create", "succeeded");
    expect(
      readyOf(
        await eventually(async () => {
          const now = await current(instance);
          expect(readyOf(now)?.status).toBe("True");
          return now;
        }),
      ),
    ).toMatchObject({ reason: "Reconciled" });
    expect(done.status?.provided).toMatchObject({ offeringID: "db-id", planID: "small-id", planName: "small" });
    const [put] = broker.calls(guidOf(instance));
    expect(put).toMatchObject({
      method: "PUT",
      authorization: `Basic ${Buffer.from("user:secret").toString("base64")}`,
      body: { service_id: "db-id", plan_id: "small-id", context: { platform: "cloudfoundry", space_name: "space" } },
    });
    const key = { namespace, name: instance.metadata.name };
    await bench.testEnv.kube.patch(ServiceInstance, key, {
      type: "merge",
      body: { spec: { planRef: planRef("large") } },
    });
    await eventually(async () => expect((await current(instance)).status?.provided?.planID).toBe("large-id"));
    expect(broker.calls(guidOf(instance))[1]).toMatchObject({
      method: "PATCH",
      body: { plan_id: "large-id", previous_values: { plan_id: "small-id" } },
    });
    await bench.testEnv.kube.delete(ServiceInstance, key);
    await eventually(async () => expect(await bench.testEnv.kube.find(ServiceInstance, key)).toBeUndefined());
    const calls = broker.calls(guidOf(instance));
    expect(calls.map(({ method }) => method)).toEqual(["PUT", "PATCH", "DELETE"]);
    expect(calls[2]?.query.get("plan_id")).toBe("large-id");
  });

  test("of a broker that goes on by itself is asked about until it is done", async () => {
    const name = freeName("slow");
    const guid = "0190a000-0000-7000-8000-00000000000" + String(made % 10);
    let asked = 0;
    broker.answer(guid, ({ method, path }) => {
      if (path.endsWith("last_operation"))
        return {
          status: 200,
          body: { state: ++asked > 1 ? "succeeded" : "in progress", description: "half" },
          headers: { "retry-after": "1" },
        };
      return { status: method === "PUT" ? 202 : 200, body: { operation: "task-1", dashboard_url: "https://dash" } };
    });
    const instance = await bench.testEnv.kube.create(ServiceInstance, {
      metadata: { name, namespace, labels: { "cupola.dev/guid": guid } },
      spec: { type: "managed", planRef: planRef("small") },
    });
    await reaches(instance, "create", "in progress");
    const done = await reaches(instance, "create", "succeeded");
    expect([done.status?.dashboardURL, asked]).toEqual(["https://dash", 2]);
    const [poll] = broker.calls(`${guid}/last_operation`);
    expect([poll?.query.get("operation"), poll?.query.get("plan_id")]).toEqual(["task-1", "small-id"]);
  });

  test("that the broker refuses, or may have made, is failed, and the latter is taken back", async () => {
    for (const [status, body, calls] of [
      [400, { description: "no room" }, ["PUT"]],
      [500, { description: "crash" }, ["PUT", "DELETE"]],
      [201, "garbage", ["PUT", "DELETE"]],
    ] as const) {
      const guid = `0190a000-0000-7000-8000-0000000${String(++made).padStart(5, "0")}`;
      broker.answer(guid, ({ method }) => (method === "PUT" ? { status, body } : { status: 200 }));
      const instance = await bench.testEnv.kube.create(ServiceInstance, {
        metadata: { name: freeName("bad"), namespace, labels: { "cupola.dev/guid": guid } },
        spec: { type: "managed", planRef: planRef("small") },
      });
      const failed = await reaches(instance, "create", "failed");
      expect(failed.status?.lastOperation?.description).toMatch(/no room|crash|no JSON/);
      await eventually(() => expect(broker.calls(guid).map(({ method }) => method)).toEqual(calls));
    }
  });

  test("has no plan that its space may not use", async () => {
    const instance = await order("hidden");
    await eventually(async () => expect(readyOf(await current(instance))?.reason).toBe("PlanMissing"));
    expect(broker.calls(guidOf(instance))).toEqual([]);
  });

  test("whose deletion fails says so, and is purged without a word", async () => {
    const instance = await order();
    await reaches(instance, "create", "succeeded");
    broker.answer(guidOf(instance), () => ({ status: 500, body: { description: "in use" } }));
    const key = { namespace, name: instance.metadata.name };
    await bench.testEnv.kube.delete(ServiceInstance, key);
    const failed = await reaches(instance, "delete", "failed");
    expect(failed.status?.lastOperation?.description).toMatch(/in use/);
    await bench.testEnv.kube.patch(ServiceInstance, key, { type: "merge", body: { spec: { purge: true } } });
    await eventually(async () => expect(await bench.testEnv.kube.find(ServiceInstance, key)).toBeUndefined());
  });
});

describe("a binding", () => {
  test("gets its credentials into a Secret of its own, and goes before its instance", async () => {
    const instance = await order();
    const name = freeName("key");
    broker.answer("/service_bindings/", ({ method }) =>
      method === "PUT"
        ? { status: 201, body: { credentials: { uri: "postgres://u:p@db/x", port: 5432 } } }
        : { status: 200 },
    );
    const { kube } = bench.testEnv;
    await kube.create(ServiceBinding, {
      metadata: { name, namespace },
      spec: { type: "key", name, instanceRef: { name: instance.metadata.name } },
    });
    const bound = await eventually(async () => {
      const now = await kube.get(ServiceBinding, { namespace, name });
      expect(readyOf(now)?.status).toBe("True");
      return now;
    });
    const { data = {}, type } = await kube.get(Secret, { namespace, name: bound.status?.binding?.name ?? "" });
    const texts = Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
    );
    expect([type, texts]).toEqual([
      "servicebinding.io/db",
      {
        type: "db",
        uri: "postgres://u:p@db/x",
        port: "5432",
        credentials: JSON.stringify({ uri: "postgres://u:p@db/x", port: 5432 }),
      },
    ]);
    await kube.delete(ServiceInstance, { namespace, name: instance.metadata.name });
    await eventually(async () =>
      expect(await kube.find(ServiceInstance, { namespace, name: instance.metadata.name })).toBeUndefined(),
    );
    expect(broker.calls(guidOf(instance)).map(({ method, path }) => [method, path.includes("bindings")])).toEqual([
      ["PUT", false],
      ["PUT", true],
      ["DELETE", true],
      ["DELETE", false],
    ]);
  });
});
