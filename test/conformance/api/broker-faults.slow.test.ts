// Service brokers that are busy, fail, forget and hang, and instances and bindings that lose each other: nothing goes on for ever, nothing is left behind.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../../crds/service-offering/service-offering.ts";
import { Space } from "../../../crds/space/space.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { omitUndefined } from "../../../kube/api/omit-undefined.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, startApiHarness } from "./harness.ts";
import { makeCatalog, SYSTEM } from "./managed-world.ts";
import { startScriptedBroker, type BrokerReply, type ScriptedBroker } from "./scripted-broker.ts";

let bench: ApiHarness;
let broker: ScriptedBroker;
let namespace: string;
let otherNamespace: string;
beforeAll(async () => {
  [bench, broker] = [await startApiHarness(), await startScriptedBroker()];
  const org = await bench.org("org");
  const namespaceOf = ({ guid }: { guid: string }): string =>
    bench.testEnv.replicas[0].api.cache.store(Space).byIndex("guid", guid)[0]?.status?.namespace ?? "";
  namespace = namespaceOf(await bench.space(org, "space"));
  otherNamespace = namespaceOf(await bench.space(org, "other"));
  await makeCatalog(bench, broker);
  expect((await bench.call("PATCH", "/v3/feature_flags/service_instance_sharing", { enabled: true })).status).toBe(200);
});
afterAll(async () => {
  await bench.testEnv.stop();
  await broker.stop();
});

let made = 0;
const freeName = (stem: string): string => `${stem}-${++made}`;
/** A GUID that is known before the broker is asked. */
const freeGUID = (): string => `0190b000-0000-7000-8000-${String(++made).padStart(12, "0")}`;
const at = ({ metadata }: ServiceInstance | ServiceBinding) => ({
  namespace: metadata.namespace ?? "",
  name: metadata.name,
});
const methods = (part: string): string[] => broker.calls(part).map(({ method }) => method);

async function order({ plan = "small", guid = freeGUID(), more = {} } = {}): Promise<ServiceInstance> {
  return bench.testEnv.kube.create(ServiceInstance, {
    metadata: { name: freeName("db"), namespace, labels: { "cupola.dev/guid": guid } },
    spec: { type: "managed", planRef: { namespace: SYSTEM, name: plan }, ...more },
  });
}

async function key(instance: ServiceInstance, { guid = freeGUID(), within = namespace } = {}): Promise<ServiceBinding> {
  const name = freeName("key");
  return bench.testEnv.kube.create(ServiceBinding, {
    metadata: { name, namespace: within, labels: { "cupola.dev/guid": guid } },
    spec: { type: "key", name, instanceRef: { name: instance.metadata.name, namespace } },
  });
}

const guidOf = ({ metadata }: ServiceInstance | ServiceBinding): string => metadata.labels?.["cupola.dev/guid"] ?? "";

type Described = ServiceInstance | ServiceBinding;

const refOf = ({ kind }: Described): ResourceRef<Described> =>
  (kind === ServiceBinding.kind ? ServiceBinding : ServiceInstance) as ResourceRef<Described>;

async function reaches<T extends Described>(object: T, type: string, state: string): Promise<T> {
  return eventually(async () => {
    const now = await bench.testEnv.kube.get(refOf(object), at(object));
    expect(now.status?.lastOperation).toMatchObject({ type, state });
    return now as T;
  });
}

async function isGone(object: Described): Promise<void> {
  await eventually(async () => expect(await bench.testEnv.kube.find(refOf(object), at(object))).toBeUndefined());
}

/** A broker that goes on by itself: `progress` answers its questions. */
const accepting =
  (progress: () => BrokerReply, fetched: BrokerReply = { status: 200, body: {} }) =>
  ({ method, path }: { method: string; path: string }): BrokerReply => {
    if (path.endsWith("/last_operation")) return progress();
    if (method === "GET") return fetched;
    return method === "DELETE" ? { status: 200 } : { status: 202, body: { operation: "op" } };
  };
const succeeded = (): BrokerReply => ({ status: 200, body: { state: "succeeded", description: "in 3 s" } });

describe("a binding that its broker makes by itself", () => {
  test("has its credentials, and the broker's words", async () => {
    const instance = await reaches(await order(), "create", "succeeded");
    const guid = freeGUID();
    broker.answer(guid, accepting(succeeded, { status: 200, body: { credentials: { a: "b" } } }));
    const bound = await reaches(await key(instance, { guid }), "create", "succeeded");
    expect(bound.status).toMatchObject({
      lastOperation: { description: "in 3 s" },
      instanceGUID: guidOf(instance),
      provided: { planID: "small-id" },
    });
  });

  test("has failed when the broker does not tell its credentials, and is taken back", async () => {
    const instance = await reaches(await order(), "create", "succeeded");
    const guid = freeGUID();
    broker.answer(guid, accepting(succeeded, { status: 404, body: {} }));
    const failed = await reaches(await key(instance, { guid }), "create", "failed");
    expect(failed.status?.lastOperation?.description).toMatch(/404 Not Found/);
    await eventually(() => expect(methods(guid).at(-1)).toBe("DELETE"));
  });

  test("has failed when the broker never tells any, and is taken back", async () => {
    const instance = await reaches(await order({ plan: "one" }), "create", "succeeded");
    const guid = freeGUID();
    broker.answer(guid, accepting(succeeded));
    const failed = await reaches(await key(instance, { guid }), "create", "failed");
    expect(failed.status?.lastOperation?.description).toMatch(/does not support fetching binding data/);
    await eventually(() => expect(methods(guid)).toEqual(["PUT", "DELETE"]));
  });
});

describe("a broker that is busy", () => {
  test.each<[string, BrokerReply]>([
    ["refuses for now", { status: 429, body: {}, headers: { "retry-after": "1" } }],
    ["has another operation", { status: 422, body: { error: "ConcurrencyError" } }],
  ])("that %s is asked again", async (_, first) => {
    const guid = freeGUID();
    broker.answer(guid, ({ method }) => {
      if (method === "PATCH") return { status: methods(guid).length > 4 ? 200 : 503, body: {} };
      return methods(guid).length > 1 ? { status: 201, body: {} } : first;
    });
    const instance = await reaches(await order({ guid }), "create", "succeeded");
    expect(methods(guid)).toEqual(["PUT", "PUT"]);
    const planRef = { namespace: SYSTEM, name: "large" };
    await bench.testEnv.kube.patch(ServiceInstance, at(instance), { type: "merge", body: { spec: { planRef } } });
    const waiting = await reaches(instance, "update", "initial");
    expect(waiting.status?.refusedUpdate).toBeUndefined();
    await reaches(instance, "update", "succeeded");
    expect(methods(guid).filter((method) => method === "PATCH").length).toBeGreaterThan(1);
  });

  test("is asked for what is wanted now", async () => {
    const guid = freeGUID();
    broker.answer(guid, ({ method, body }) =>
      method === "PATCH" && body.plan_id !== "large-id" ? { status: 503, body: {} } : { status: 200, body: {} },
    );
    const instance = await reaches(await order({ guid }), "create", "succeeded");
    const want = (name: string): Promise<unknown> =>
      bench.testEnv.kube.patch(ServiceInstance, at(instance), {
        type: "merge",
        body: { spec: { planRef: { namespace: SYSTEM, name } } },
      });
    await want("gone");
    await eventually(async () =>
      expect((await bench.testEnv.kube.get(ServiceInstance, at(instance))).status?.operation?.attempts).toBe(1),
    );
    await want("large");
    await reaches(instance, "update", "succeeded");
  });
});

describe("the end of an instance", () => {
  test("that waits for a binding which the broker keeps has failed, and a repeated wish is heard at once", async () => {
    const instance = await reaches(await order(), "create", "succeeded");
    const binding = await reaches(await key(instance), "create", "succeeded");
    let isStuck = true;
    broker.answer(guidOf(binding), () => (isStuck ? { status: 500, body: { description: "stuck" } } : { status: 200 }));
    const path = `/v3/service_instances/${guidOf(instance)}`;
    const failed = await bench.job(await bench.call("DELETE", path));
    expect([failed.state, failed.errors[0].detail]).toEqual([
      "FAILED",
      `delete could not be completed: Service broker failed to delete service binding for instance ${instance.metadata.name}: Service broker error: stuck`,
    ]);
    isStuck = false;
    expect((await bench.job(await bench.call("DELETE", path))).state).toBe("COMPLETE");
    await isGone(binding);
  });

  test("asks at once for a binding whose deletion has failed before", async () => {
    const instance = await reaches(await order(), "create", "succeeded");
    const binding = await reaches(await key(instance), "create", "succeeded");
    let isStuck = true;
    broker.answer(guidOf(binding), () => (isStuck ? { status: 500, body: {} } : { status: 200 }));
    const unbind = await bench.call("DELETE", `/v3/service_credential_bindings/${guidOf(binding)}`);
    expect((await bench.job(unbind)).state).toBe("FAILED");
    isStuck = false;
    const job = await bench.job(await bench.call("DELETE", `/v3/service_instances/${guidOf(instance)}`));
    expect([job.state, job.errors]).toEqual(["COMPLETE", []]);
  });

  test("that fails is asked again at once", async () => {
    const instance = await reaches(await order(), "create", "succeeded");
    let isStuck = true;
    broker.answer(guidOf(instance), () => (isStuck ? { status: 500, body: {} } : { status: 200 }));
    const path = `/v3/service_instances/${guidOf(instance)}`;
    const failed = await bench.job(await bench.call("DELETE", path));
    expect(failed.errors[0].detail).toMatch(/Status Code: 500 Internal Server Error, Body: \{\}/);
    isStuck = false;
    expect((await bench.job(await bench.call("DELETE", path))).state).toBe("COMPLETE");
  });

  test("comes after its bindings in all spaces, and unsharing takes those there", async () => {
    const more = { sharedSpaces: [otherNamespace] };
    const instance = await reaches(await order({ more }), "create", "succeeded");
    const bound = async (): Promise<ServiceBinding> => {
      const name = freeName("shop");
      const app = await bench.testEnv.kube.create(App, {
        metadata: { name, namespace: otherNamespace },
        spec: { name },
      });
      const binding = await bench.testEnv.kube.create(ServiceBinding, {
        metadata: { name, namespace: otherNamespace, labels: { "cupola.dev/guid": freeGUID() } },
        spec: { appRef: { name: app.metadata.name }, instanceRef: { name: instance.metadata.name, namespace } },
      });
      return reaches(binding, "create", "succeeded");
    };
    const share = (sharedSpaces: string[]): Promise<unknown> =>
      bench.testEnv.kube.patch(ServiceInstance, at(instance), { type: "merge", body: { spec: { sharedSpaces } } });
    const first = await bound();
    await share([]);
    await isGone(first);
    expect(methods(guidOf(first))).toEqual(["PUT", "DELETE"]);
    await share([otherNamespace]);
    const second = await bound();
    await bench.testEnv.kube.delete(ServiceInstance, at(instance));
    await isGone(instance);
    expect(broker.calls(guidOf(instance)).map(({ method, path }) => [method, path.includes(guidOf(second))])).toEqual(
      expect.arrayContaining([["DELETE", true]]),
    );
    expect(methods(guidOf(second))).toEqual(["PUT", "DELETE"]);
  });

  test("that somebody has forced leaves no binding at the broker", async () => {
    const instance = await reaches(await order(), "create", "succeeded");
    const binding = await reaches(await key(instance), "create", "succeeded");
    await bench.testEnv.kube.patch(ServiceInstance, at(instance), {
      type: "merge",
      body: { metadata: { finalizers: [] } },
    });
    // Until it is gone the controller may put its finalizer back.
    await eventually(async () => {
      await bench.testEnv.kube.patch(ServiceInstance, at(instance), {
        type: "merge",
        body: { metadata: { finalizers: ["test.example.com/hold"] } },
      });
      const now = await bench.testEnv.kube.get(ServiceInstance, at(instance));
      expect(now.metadata.finalizers).toEqual(["test.example.com/hold"]);
      await bench.testEnv.kube.delete(ServiceInstance, at(instance));
    });
    await bench.testEnv.kube.patch(ServiceInstance, at(instance), {
      type: "merge",
      body: { metadata: { finalizers: [] } },
    });
    await isGone(instance);
    await bench.testEnv.kube.delete(ServiceBinding, at(binding));
    await isGone(binding);
    expect(methods(guidOf(binding))).toEqual(["PUT", "DELETE"]);
  });

  test("that a backup brought back without its status is told to the broker", async () => {
    const instance = await reaches(await order(), "create", "succeeded");
    let isStuck = true;
    broker.answer(guidOf(instance), () => (isStuck ? { status: 500, body: {} } : { status: 200 }));
    await bench.testEnv.kube.delete(ServiceInstance, at(instance));
    await reaches(instance, "delete", "failed");
    isStuck = false;
    const status = { lastOperation: null, operation: null, provided: null };
    await bench.testEnv.kube.patch(
      ServiceInstance,
      at(instance),
      { type: "merge", body: { status } },
      { subresource: "status" },
    );
    await isGone(instance);
    expect(broker.calls(guidOf(instance)).at(-1)?.query.get("plan_id")).toBe("small-id");
  });
});

describe("an instance and its binding that a backup brought back without their status", () => {
  /** Takes it away as the loss of a cluster does: its broker is not asked. */
  async function lose(object: Described): Promise<void> {
    const { kube } = bench.testEnv;
    const holdBy = (finalizers: string[]) =>
      kube.patch(refOf(object), at(object), { type: "merge", body: { metadata: { finalizers } } });
    // Until it is gone the controller may put its finalizer back.
    await eventually(async () => {
      await holdBy(["test.example.com/hold"]);
      const now = await kube.get(refOf(object), at(object));
      expect(now.metadata.finalizers).toEqual(["test.example.com/hold"]);
      await kube.delete(refOf(object), at(object));
    });
    await holdBy([]);
    await isGone(object);
  }

  async function restore({ kind, metadata, spec }: Described): Promise<void> {
    const { name, namespace, labels, finalizers } = metadata;
    const draft = { metadata: omitUndefined({ name, namespace, labels, finalizers }), spec };
    await bench.testEnv.kube.create(refOf({ kind } as Described), draft as never);
  }

  test.each([
    ["at once", false],
    ["once they are there again", true],
  ])("are deleted at the broker when they are deleted %s", async (_when, waits) => {
    const made = await reaches(await order(), "create", "succeeded");
    const binding = await reaches(await key(made), "create", "succeeded");
    const instance = await bench.testEnv.kube.get(ServiceInstance, at(made));
    const asked = { instance: guidOf(instance), binding: guidOf(binding) };
    await lose(binding);
    await lose(instance);
    expect([methods(asked.binding), methods(asked.instance)].flat()).not.toContain("DELETE");
    await restore(instance);
    await restore(binding);
    if (waits) for (const one of [instance, binding]) await reaches(one, "create", "succeeded");
    // The binding by itself: its instance may have no status yet.
    await bench.testEnv.kube.delete(ServiceBinding, at(binding));
    await isGone(binding);
    await bench.testEnv.kube.delete(ServiceInstance, at(instance));
    await isGone(instance);
    expect(methods(asked.binding).at(-1)).toBe("DELETE");
    const last = broker.calls(asked.instance).at(-1);
    expect([last?.method, last?.path, last?.query.get("plan_id")]).toEqual([
      "DELETE",
      `/v2/service_instances/${asked.instance}`,
      "small-id",
    ]);
  });
});

describe("what a backup brought back without its status, and the broker has with other attributes,", () => {
  const conflict: BrokerReply = { status: 409, body: {} };

  test("is there again, an instance and its binding", async () => {
    const [guid, bindingGUID] = [freeGUID(), freeGUID()];
    broker.answer(guid, ({ method }) => (method === "PUT" ? conflict : { status: 200, body: {} }));
    broker.answer(bindingGUID, ({ method }) =>
      method === "PUT" ? conflict : { status: 200, body: { credentials: { uri: "db://kept" } } },
    );
    const instance = await reaches(await order({ guid }), "create", "succeeded");
    const binding = await reaches(await key(instance, { guid: bindingGUID }), "create", "succeeded");
    const name = binding.status?.binding?.name ?? "";
    const { data } = await bench.testEnv.kube.get(Secret, { namespace, name });
    expect(Buffer.from(data?.["uri"] ?? "", "base64").toString()).toBe("db://kept");
    expect(methods(bindingGUID)).not.toContain("DELETE");
  });

  test("has failed when the broker does not tell the binding, and is not taken back", async () => {
    const guid = freeGUID();
    broker.answer(guid, ({ method }) => (method === "PUT" ? conflict : { status: 404, body: {} }));
    const instance = await reaches(await order(), "create", "succeeded");
    const binding = await reaches(await key(instance, { guid }), "create", "failed");
    expect(binding.status?.lastOperation?.description).toBe("Resource conflict");
    expect(methods(guid)).not.toContain("DELETE");
  });

  test("is nobody's who made something new", async () => {
    const made = await bench.testEnv.kube.create(ServiceInstance, {
      metadata: { name: freeName("db"), namespace },
      spec: { type: "managed", planRef: { namespace: SYSTEM, name: "small" } },
    });
    broker.answer(made.metadata.uid ?? "", () => conflict);
    await reaches(made, "create", "failed");
  });
});

test("what a failed creation may have left is taken back until the broker says so", async () => {
  const guid = freeGUID();
  broker.answer(guid, ({ method, path }) => {
    if (path.endsWith("/last_operation")) return { status: 410, body: {} };
    return method === "DELETE" ? { status: 202, body: {} } : { status: 500, body: { description: "crash" } };
  });
  const instance = await order({ guid });
  await eventually(async () => {
    const { status } = await bench.testEnv.kube.get(ServiceInstance, at(instance));
    expect(status?.conditions?.find(({ type }) => type === "Orphaned")).toMatchObject({
      status: "False",
      reason: "TakenBack",
    });
    expect(status).not.toHaveProperty("operation");
  });
  expect(methods(guid)).toEqual(["PUT", "DELETE", "GET"]);
});

test("an update always names the plan", async () => {
  const instance = await reaches(await order({ plan: "new" }), "create", "succeeded");
  const parameters = Buffer.from('{"a":1}').toString("base64");
  await bench.testEnv.kube.create(Secret, {
    metadata: { name: instance.metadata.name, namespace, labels: { "cupola.dev/env": "allowed" } },
    type: "Opaque",
    data: { parameters },
  });
  const spec = { parametersSecretRef: { name: instance.metadata.name } };
  await bench.testEnv.kube.patch(ServiceInstance, at(instance), { type: "merge", body: { spec } });
  await reaches(instance, "update", "succeeded");
  expect(broker.calls(guidOf(instance)).at(-1)?.body).toMatchObject({ service_id: "db-id", plan_id: "new-id" });
});

test("apps of volume services would have no volume, and are not bound", async () => {
  const { kube } = bench.testEnv;
  const spec = { requires: ["volume_mount"] };
  await kube.patch(ServiceOffering, { namespace: SYSTEM, name: "fixed" }, { type: "merge", body: { spec } });
  const instance = await reaches(await order({ plan: "two" }), "create", "succeeded");
  const name = freeName("shop");
  await kube.create(App, { metadata: { name, namespace }, spec: { name } });
  const binding = await kube.create(ServiceBinding, {
    metadata: { name, namespace },
    spec: { appRef: { name }, instanceRef: { name: instance.metadata.name } },
  });
  await eventually(async () => {
    const { status } = await kube.get(ServiceBinding, at(binding));
    expect(status?.conditions?.find(({ type }) => type === "Provided")?.reason).toBe("VolumesDisabled");
  });
  expect(broker.calls(`${guidOf(instance)}/service_bindings`)).toEqual([]);
});
