// "Orphan Mitigation" of the Open Service Broker API 2.17, row by row: what the broker may have made is taken back, nothing else is; by the CF API, as `cf` calls it, and by kubectl.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { Space } from "../../../crds/space/space.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, startApiHarness, to } from "./harness.ts";
import { makeCatalog, SYSTEM } from "./managed-world.ts";
import { startScriptedBroker, type BrokerCall, type BrokerReply, type ScriptedBroker } from "./scripted-broker.ts";

let bench: ApiHarness;
let broker: ScriptedBroker;
let namespace: string;
let space: { guid: string };
beforeAll(async () => {
  [bench, broker] = [await startApiHarness(), await startScriptedBroker()];
  space = await bench.space(await bench.org("org"), "space");
  const spaces = bench.testEnv.replicas[0].api.cache.store(Space);
  namespace = spaces.byIndex("guid", space.guid)[0]?.status?.namespace ?? "";
  await makeCatalog(bench, broker);
  broker.answer("/v2/service_instances/", answerByRow);
});
afterAll(async () => {
  await bench.testEnv.stop();
  await broker.stop();
});

/** Requests that the broker gets, the last one of which ends it, and how the creation has ended then. */
interface Row {
  what: string;
  reply: BrokerReply;
  asked: readonly string[];
  state: "succeeded" | "failed";
}

const succeeds = (what: string, reply: BrokerReply): Row => ({ what, reply, asked: ["PUT"], state: "succeeded" });
const rejected = (what: string, reply: BrokerReply): Row => ({ what, reply, asked: ["PUT"], state: "failed" });
const takenBack = (what: string, reply: BrokerReply): Row => ({
  what,
  reply,
  asked: ["PUT", "DELETE"],
  state: "failed",
});
const repeated = (what: string, reply: BrokerReply): Row => ({
  what,
  reply,
  asked: ["PUT", "PUT"],
  state: "succeeded",
});

const ROWS: readonly Row[] = [
  succeeds("200", { status: 200, body: {} }),
  rejected("200 with a malformed body", { status: 200, body: "no JSON" }),
  succeeds("201", { status: 201, body: {} }),
  takenBack("201 with a malformed body", { status: 201, body: "no JSON" }),
  { ...succeeds("202", { status: 202, body: { operation: "op" } }), asked: ["PUT", "GET"] },
  takenBack("202 with a malformed body", { status: 202, body: "no JSON" }),
  takenBack("any other 2xx", { status: 203, body: {} }),
  repeated("408", { status: 408, body: {} }),
  repeated("422 ConcurrencyError", { status: 422, body: { error: "ConcurrencyError" } }),
  rejected("any other 4xx", { status: 400, body: { description: "no" } }),
  rejected("409", { status: 409, body: {} }),
  rejected("410", { status: 410, body: {} }),
  takenBack("5xx", { status: 500, body: { description: "no" } }),
  takenBack("an answer that does not come whole", { status: 201, body: "x".repeat(300_000) }),
];

/** Rows by the name of the instance, or by the path of the requests. */
const rows = new Map<string, Row>();

/** Before its GUID is known, an instance is told by the name that the broker gets. */
function answerByRow(call: BrokerCall): BrokerReply {
  const path = /^\/v2\/service_instances\/[^/]+(\/service_bindings\/)?/.exec(call.path)?.[0] ?? "";
  const named = path.endsWith("/") ? undefined : rows.get(call.body?.context?.instance_name as string);
  if (named) rows.set(path, named);
  const row = rows.get(path);
  return row ? answerBy(row, path)(call) : { status: 200, body: {} };
}

/** Answers the first request by the row, and all others well. */
function answerBy({ reply }: Row, path: string): (call: BrokerCall) => BrokerReply {
  return (call) => {
    if (call.path.endsWith("/last_operation")) return { status: 200, body: { state: "succeeded" } };
    const isFirst = broker.calls(path).filter(({ method }) => method === "PUT").length === 1;
    if (call.method === "PUT") return isFirst ? reply : { status: 201, body: {} };
    return { status: 200, body: {} };
  };
}

async function expectRow(row: Row, path: string, find: () => Promise<ServiceInstance | ServiceBinding>): Promise<void> {
  await eventually(async () => {
    const { status } = await find();
    expect([row.what, status?.lastOperation?.type, status?.lastOperation?.state]).toEqual([
      row.what,
      "create",
      row.state,
    ]);
    // Nothing is left to do.
    expect(status?.operation).toBeUndefined();
    const asked = broker.calls(path).filter((call) => call.method !== "GET" || call.path.endsWith("/last_operation"));
    expect([row.what, ...asked.map(({ method }) => method)]).toEqual([row.what, ...row.asked]);
  });
}

let made = 0;
const planRef = { namespace: SYSTEM, name: "small" };

type Door = "the CF API" | "kubectl";

const findInstance = (name: string) => (): Promise<ServiceInstance> =>
  bench.testEnv.kube.get(ServiceInstance, { namespace, name });
const findBinding = (name: string) => (): Promise<ServiceBinding> =>
  bench.testEnv.kube.get(ServiceBinding, { namespace, name });

/** An instance that is asked for; `path` of its requests. */
async function order(door: Door, row?: Row): Promise<{ name: string; guid: string; path: string }> {
  const name = `db-${++made}`;
  if (row) rows.set(name, row);
  if (door === "kubectl") {
    // A GUID of one's own would mean that it was restored.
    const draft = { metadata: { name, namespace }, spec: { type: "managed", planRef } } as const;
    const { uid: guid = "" } = (await bench.testEnv.kube.create(ServiceInstance, draft)).metadata;
    return { name, guid, path: `/v2/service_instances/${guid}` };
  }
  const plan = await bench.testEnv.kube.get(ServicePlan, planRef);
  const relationships = { space: to(space), service_plan: to(plan.metadata.uid ?? "") };
  await bench.call("POST", "/v3/service_instances", { type: "managed", name, relationships });
  const { resources } = await bench.read(`/v3/service_instances?names=${name}`);
  const { guid } = resources[0] as { guid: string };
  return { name, guid, path: `/v2/service_instances/${guid}` };
}

async function bind(door: Door, row: Row): Promise<void> {
  const of = await order(door);
  await eventually(async () => expect((await findInstance(of.name)()).status?.lastOperation?.state).toBe("succeeded"));
  const path = `${of.path}/service_bindings/`;
  rows.set(path, row);
  const name = `${of.name}-key`;
  if (door === "kubectl") {
    const spec = { type: "key", name, instanceRef: { name: of.name } } as const;
    await bench.testEnv.kube.create(ServiceBinding, { metadata: { name, namespace }, spec });
    return expectRow(row, path, findBinding(name));
  }
  const relationships = { service_instance: to(of.guid) };
  await bench.call("POST", "/v3/service_credential_bindings", { type: "key", name, relationships });
  const { items } = await bench.testEnv.kube.list(ServiceBinding, { namespace });
  const object = items.find(({ spec }) => spec.name === name)?.metadata.name ?? "";
  return expectRow(row, path, findBinding(object));
}

describe.each<Door>(["the CF API", "kubectl"])("by %s", (door) => {
  test("instances, answered with each of these", { timeout: 120_000 }, async () => {
    await Promise.all(
      ROWS.map(async (row) => {
        const { name, path } = await order(door, row);
        await expectRow(row, path, findInstance(name));
      }),
    );
  });

  test("keys, answered with each of these", { timeout: 120_000 }, async () => {
    await Promise.all(ROWS.map((row) => bind(door, row)));
  });
});
