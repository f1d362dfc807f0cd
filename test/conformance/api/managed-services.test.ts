// Managed service instances and their bindings: what their broker is asked, and what becomes of its answers.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { Space } from "../../../crds/space/space.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, startApiHarness, to } from "./harness.ts";
import { makeCatalog, makeOffering, SYSTEM } from "./managed-world.ts";
import { startScriptedBroker, type ScriptedBroker } from "./scripted-broker.ts";

let bench: ApiHarness;
let broker: ScriptedBroker;
let namespace: string;
let space: { guid: string };
beforeAll(async () => {
  [bench, broker] = [await startApiHarness(), await startScriptedBroker()];
  space = await bench.space(await bench.org("org"), "space");
  namespace = bench.testEnv.replicas[0].api.cache.store(Space).byIndex("guid", space.guid)[0]?.status?.namespace ?? "";
  await makeCatalog(bench, broker);
});
afterAll(async () => {
  await bench.testEnv.stop();
  await broker.stop();
});

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
      expect(failed.status?.lastOperation?.description).toMatch(/no room|crash|valid JSON/);
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
        provider: "db",
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

describe("by the CF API", () => {
  const PATH = "/v3/service_instances";
  const planGUID = async (name: string): Promise<string> =>
    guidOf(await bench.testEnv.kube.get(ServicePlan, { namespace: SYSTEM, name }));
  const body = async (name: string, plan = "small", more: object = {}): Promise<object> => ({
    type: "managed",
    name,
    relationships: { space: to(space), service_plan: to(await planGUID(plan)) },
    ...more,
  });
  async function find(name: string): Promise<{ guid: string; last_operation: object }> {
    const { resources } = await bench.read(`${PATH}?names=${name}`);
    return resources[0] as { guid: string; last_operation: object };
  }
  async function create(more: object = {}, plan = "small"): Promise<{ guid: string; name: string }> {
    const name = freeName("api");
    const job = await bench.job(await bench.call("POST", PATH, await body(name, plan, more)));
    expect([job.state, job.errors]).toEqual(["COMPLETE", []]);
    return { name, guid: (await find(name)).guid };
  }

  test("an instance is made, shown, changed and deleted by jobs", async () => {
    const { guid, name } = await create({ tags: ["mine"], parameters: { size: 5 } });
    expect(broker.calls(guid)[0]?.body.parameters).toEqual({ size: 5 });
    const fields =
      "fields[service_plan]=guid,name,relationships.service_offering&fields[service_plan.service_offering]=name,tags&fields[service_plan.service_offering.service_broker]=name";
    const shown = await bench.read(`${PATH}/${guid}?${fields}`);
    expect(shown).toMatchObject({
      type: "managed",
      name,
      tags: ["mine"],
      upgrade_available: false,
      dashboard_url: null,
      last_operation: { type: "create", state: "succeeded" },
      relationships: { service_plan: to(await planGUID("small")) },
      included: {
        service_plans: [{ guid: await planGUID("small"), name: "small" }],
        service_offerings: [{ name: "db", tags: ["sql"] }],
        service_brokers: [{ name: "scripted" }],
      },
    });
    expect(await bench.column(`${PATH}?service_plan_names=small&names=${name}`, "guid")).toEqual([guid]);
    expect(await bench.column(`${PATH}?service_plan_names=large&names=${name}`, "guid")).toEqual([]);
    const renamed = await bench.call("PATCH", `${PATH}/${guid}`, { tags: ["other"] });
    expect([renamed.status, renamed.json.tags]).toEqual([200, ["other"]]);
    const relationships = { service_plan: to(await planGUID("large")) };
    const update = await bench.job(
      await bench.call("PATCH", `${PATH}/${guid}`, { relationships, parameters: { a: 1 } }),
    );
    expect([update.state, update.operation]).toEqual(["COMPLETE", "service_instance.update"]);
    expect(broker.calls(guid)[1]).toMatchObject({
      method: "PATCH",
      body: { plan_id: "large-id", parameters: { a: 1 } },
    });
    expect((await bench.read(`${PATH}/${guid}`)).relationships.service_plan).toEqual(relationships.service_plan);
    const deleted = await bench.job(await bench.call("DELETE", `${PATH}/${guid}`));
    expect([deleted.state, deleted.operation]).toEqual(["COMPLETE", "service_instance.delete"]);
    expect((await bench.call("GET", `${PATH}/${guid}`)).status).toBe(404);
  });

  test.each([
    ["a plan that its space may not use", "hidden", {}, /Invalid service plan/],
    ["credentials", "small", { credentials: { a: 1 } }, /Unknown field\(s\): 'credentials'/],
    ["parameters that are no object", "small", { parameters: "x" }, /Parameters must be an object/],
    ["parameters without bound", "small", { parameters: { a: "x".repeat(70_000) } }, /may have 65536 bytes/],
  ])("an instance with %s is refused", async (...[, plan, more, words]) => {
    const { status, json } = await bench.call("POST", PATH, await body(freeName("no"), plan, more));
    expect([status, json.errors[0].detail]).toEqual([422, expect.stringMatching(words)]);
  });

  test("what the broker refuses fails the job, and is shown", async () => {
    const name = freeName("refused");
    broker.answer("/v2/service_instances/", ({ method, body: sent }) =>
      method === "PUT" && (sent as { context?: { instance_name?: string } }).context?.instance_name === name
        ? { status: 400, body: { description: "no room" } }
        : { status: method === "PUT" ? 201 : 200, body: {} },
    );
    const job = await bench.job(await bench.call("POST", PATH, await body(name)));
    expect([job.state, job.errors]).toEqual([
      "FAILED",
      [
        {
          code: 10009,
          title: "CF-UnableToPerform",
          detail: "create could not be completed: Service broker error: no room",
        },
      ],
    ]);
    expect((await find(name)).last_operation).toMatchObject({ type: "create", state: "failed" });
  });

  test.each<[string, string, () => Promise<object>, [number, string]]>([
    ["a plan of another offering", "small", () => toPlan("one"), [400, "CF-InvalidRelation"]],
    ["another plan where that is not allowed", "one", () => toPlan("two"), [400, "CF-ServicePlanNotUpdateable"]],
    ["a version that the plan has not", "new", () => toVersion("9"), [422, "CF-MaintenanceInfoConflict"]],
    ["a version of a plan without any", "small", () => toVersion("2.0.0"), [422, "CF-MaintenanceInfoNotSupported"]],
    [
      "a version with another plan",
      "new",
      async () => ({ ...(await toPlan("small")), ...(await toVersion("2.0.0")) }),
      [422, "CF-MaintenanceInfoNotUpdatableWhenChangingPlan"],
    ],
  ])("an update to %s is refused", async (...[, plan, change, refusal]) => {
    const { guid } = await create({}, plan);
    const { status, json } = await bench.call("PATCH", `${PATH}/${guid}`, await change());
    expect([status, json.errors[0].title]).toEqual(refusal);
  });

  const toPlan = async (name: string): Promise<object> => ({
    relationships: { service_plan: to(await planGUID(name)) },
  });
  const toVersion = (version: string): Promise<object> => Promise.resolve({ maintenance_info: { version } });

  test("an instance is upgraded once its plan has a newer version", async () => {
    const { guid } = await create({}, "new");
    expect(await bench.read(`${PATH}/${guid}`)).toMatchObject({
      maintenance_info: { version: "2.0.0", description: "faster" },
      upgrade_available: false,
    });
    const key = { namespace: SYSTEM, name: "new" };
    const version = `2.${++made}.0`;
    const spec = { maintenanceInfo: { version } };
    await bench.testEnv.kube.patch(ServicePlan, key, { type: "merge", body: { spec } });
    await eventually(async () => expect((await bench.read(`${PATH}/${guid}`)).upgrade_available).toBe(true));
    const job = await bench.job(await bench.call("PATCH", `${PATH}/${guid}`, { maintenance_info: { version } }));
    expect(job.state).toBe("COMPLETE");
    expect(await bench.read(`${PATH}/${guid}`)).toMatchObject({
      maintenance_info: { version },
      upgrade_available: false,
    });
    expect(broker.calls(guid)[1]?.body).toMatchObject({ maintenance_info: { version } });
    await bench.testEnv.kube.patch(ServicePlan, key, {
      type: "merge",
      body: { spec: { maintenanceInfo: { version: "2.0.0" } } },
    });
  });

  test("an instance whose plan has left the catalog can be deleted, not changed", async () => {
    const { guid } = await create({}, "gone");
    const key = { namespace: SYSTEM, name: "gone" };
    const setAvailable = (available: boolean): Promise<unknown> =>
      bench.testEnv.kube.patch(ServicePlan, key, { type: "merge", body: { spec: { available } } });
    await setAvailable(false);
    try {
      await eventually(async () => {
        const { status, json } = await bench.call("PATCH", `${PATH}/${guid}`, { parameters: { a: 1 } });
        expect([status, json.errors[0].title]).toEqual([403, "CF-ServiceInstanceWithInaccessiblePlanNotUpdateable"]);
      });
      expect((await bench.job(await bench.call("DELETE", `${PATH}/${guid}`))).state).toBe("COMPLETE");
    } finally {
      await setAvailable(true);
    }
  });

  test("a broker that is being deleted takes no new instances, at both doors", async () => {
    const { kube } = bench.testEnv;
    const [key, plan] = [{ namespace: SYSTEM, name: "leaving" }, "of-leaving"];
    const credentialsSecretRef = { name: "scripted" };
    await kube.create(ServiceBroker, {
      metadata: { ...key, finalizers: ["example.com/held"] },
      spec: { name: key.name, url: broker.url, credentialsSecretRef },
    });
    await makeOffering(bench, { name: "of-leaving", broker: key.name }, [plan]);
    await create({}, plan);
    await kube.delete(ServiceBroker, key);
    await eventually(async () => {
      const { status, json } = await bench.call("POST", PATH, await body(freeName("late"), plan));
      expect([status, json.errors?.[0]?.detail]).toEqual([422, expect.stringMatching(/^Invalid service plan/)]);
    });
    const late = await order(plan);
    await eventually(async () => expect(readyOf(await current(late))?.reason).toBe("PlanMissing"));
    await kube.patch(ServiceBroker, key, { type: "merge", body: { metadata: { finalizers: [] } } });
  });

  test("an offering that is purged takes with it what its broker has of it, whatever plan kubectl names since", async () => {
    const plans = ["doomed-one", "doomed-two"];
    await makeOffering(bench, { name: "doomed", broker: "scripted" }, plans);
    const instances = [];
    for (const plan of plans) instances.push(await reaches(await order(plan), "create", "succeeded"));
    const [moved] = instances as [ServiceInstance];
    await bench.testEnv.kube.patch(
      ServiceInstance,
      { namespace, name: moved.metadata.name },
      { type: "merge", body: { spec: { planRef: planRef("nowhere") } } },
    );
    const { resources } = await bench.read("/v3/service_offerings?names=doomed");
    const path = `/v3/service_offerings/${resources[0].guid}?purge=true`;
    expect((await bench.call("DELETE", path)).status).toBe(204);
    for (const instance of instances) {
      const key = { namespace, name: instance.metadata.name };
      await eventually(async () => expect(await bench.testEnv.kube.find(ServiceInstance, key)).toBeUndefined());
      expect(broker.calls(guidOf(instance)).map(({ method }) => method)).toEqual(["PUT"]);
    }
  });

  test("parameters are read back as the broker tells them, by who may read the instance's space", async () => {
    const { guid } = await create({ parameters: { size: 5 } }, "told");
    expect(await bench.read(`${PATH}/${guid}/parameters`)).toEqual({});
    broker.answer(guid, ({ method }) => ({
      status: method === "PUT" ? 201 : 200,
      body: method === "GET" ? { parameters: { size: 7, engine: "15" } } : {},
    }));
    const job = await bench.job(await bench.call("PATCH", `${PATH}/${guid}`, { parameters: { size: 7 } }));
    expect([job.state, job.errors]).toEqual(["COMPLETE", []]);
    expect(await bench.read(`${PATH}/${guid}/parameters`)).toEqual({ size: 7, engine: "15" });
    broker.answer(guid, ({ method }) => ({ status: method === "GET" ? 500 : 200, body: {} }));
    await bench.job(await bench.call("PATCH", `${PATH}/${guid}`, { parameters: { size: 9 } }));
    // A broker that fails to tell: those that it was given.
    expect(await bench.read(`${PATH}/${guid}/parameters`)).toEqual({ size: 9 });
  });

  test("the broker is told the annotations with a prefix of the space and the instance, and no others", async () => {
    const annotations = { "provider.example/contact": "me", plain: "no" };
    const { status } = await bench.call("PATCH", `/v3/spaces/${space.guid}`, { metadata: { annotations } });
    expect(status).toBe(200);
    const told = { "provider.example/contact": "me" };
    await eventually(async () => {
      const { guid } = await create({ metadata: { annotations } });
      expect(broker.calls(guid)[0]?.body.context).toMatchObject({
        organization_annotations: {},
        space_annotations: told,
        instance_annotations: told,
      });
    });
  });

  test("only the parameters that the broker has are kept, whatever the number of updates", async () => {
    const { guid } = await create({ parameters: { size: 1 } });
    const kept = async (): Promise<unknown[]> => {
      const labelSelector = `cupola.dev/service-instance-guid=${guid}`;
      const { items } = await bench.testEnv.kube.list(Secret, { labelSelector });
      const own = bench.testEnv.replicas[0].api.cache.store(ServiceInstance).byIndex("guid", guid)[0];
      expect(items.map(({ metadata }) => metadata.ownerReferences?.[0]?.uid)).toEqual(
        items.map(() => own?.metadata.uid),
      );
      return items.map(
        ({ data }) => JSON.parse(Buffer.from(data?.["parameters"] ?? "", "base64").toString()) as unknown,
      );
    };
    expect(await kept()).toEqual([{ size: 1 }]);
    for (const size of [2, 3])
      expect((await bench.job(await bench.call("PATCH", `${PATH}/${guid}`, { parameters: { size } }))).state).toBe(
        "COMPLETE",
      );
    expect(await kept()).toEqual([{ size: 3 }]);
    // The broker refuses one: it goes with the next.
    broker.answer(guid, () => ({ status: 400, body: { description: "too large" } }));
    expect((await bench.job(await bench.call("PATCH", `${PATH}/${guid}`, { parameters: { size: 4 } }))).state).toBe(
      "FAILED",
    );
    broker.answer(guid, () => ({ status: 200, body: {} }));
    expect((await bench.job(await bench.call("PATCH", `${PATH}/${guid}`, { parameters: { size: 5 } }))).state).toBe(
      "COMPLETE",
    );
    expect(await kept()).toEqual([{ size: 5 }]);
  });

  test("an update is taken although kubectl has named a plan that is not there", async () => {
    const { guid } = await create();
    const found = bench.testEnv.replicas[0].api.cache.store(ServiceInstance).byIndex("guid", guid)[0];
    const key = { namespace: found?.metadata.namespace ?? "", name: found?.metadata.name ?? "" };
    const planRef = { namespace: SYSTEM, name: "nowhere" };
    await bench.testEnv.kube.patch(ServiceInstance, key, { type: "merge", body: { spec: { planRef } } });
    await eventually(async () => {
      const { status } = await bench.testEnv.kube.get(ServiceInstance, key);
      expect(status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ reason: "PlanMissing" });
    });
    const job = await bench.job(await bench.call("PATCH", `${PATH}/${guid}`, { parameters: { a: 1 } }));
    expect([job.state, job.errors]).toEqual(["COMPLETE", []]);
  });

  test("two updates at once are one, and the other is refused", async () => {
    const { guid } = await create();
    broker.answer(guid, ({ path }) =>
      path.endsWith("last_operation") ? { status: 200, body: { state: "in progress" } } : { status: 202, body: {} },
    );
    const answers = await Promise.all(
      [1, 2, 3].map((a) => bench.call("PATCH", `${PATH}/${guid}`, { parameters: { a } })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.json.errors[0].title).toBe(
      "CF-AsyncServiceInstanceOperationInProgress",
    );
    expect((await bench.call("DELETE", `${PATH}/${guid}`)).status).toBe(422);
    expect((await bench.call("DELETE", `${PATH}/${guid}?purge=true`)).status).toBe(204);
    await eventually(async () => expect((await bench.call("GET", `${PATH}/${guid}`)).status).toBe(404));
  });
});
