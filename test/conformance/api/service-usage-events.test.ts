// Service usage events: what instances of brokers and of users leave, who reads them, filters, a purge, and a change of the leader.
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { Space } from "../../../crds/space/space.ts";
import { createInformers, type Informers } from "../../../kube/cache/informers.ts";
import {
  createServiceUsageRecorder,
  SERVICE_USAGE_RECORDER_KINDS,
} from "../../../platform/operations/service-usage-recorder.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { makeCatalog, SYSTEM } from "./managed-world.ts";
import { shapeProblems } from "./response-shape.ts";
import { startScriptedBroker, type ScriptedBroker } from "./scripted-broker.ts";

const URL = "/v3/service_usage_events";
const PURGE = `${URL}/actions/destructively_purge_all_and_reseed`;
const log = pino({ level: "silent" });
let bench: ApiHarness;
let broker: ScriptedBroker;
let informers: Informers;
let stopLeader: () => Promise<void>;
let space: { guid: string };
let namespace: string;

/** Starts a leader; the returned function resolves when it has written its last events. */
function lead(writer: string): () => Promise<void> {
  const abort = new AbortController();
  const ended = createServiceUsageRecorder({ informers, log, writer }).start(abort.signal, bench.testEnv.kube);
  return async () => {
    abort.abort();
    await ended;
  };
}

interface Event {
  guid: string;
  state: string;
  service_instance: { guid: string; name: string; type: string };
  service_plan: { guid: string | null; name: string | null };
  service_offering: { guid: string };
}
const listAll = async (query = ""): Promise<Event[]> => (await bench.read(`${URL}?per_page=500&${query}`)).resources;
const present = (events: readonly Event[]): string[] =>
  events.map(({ state, service_instance: { name }, service_plan: plan }) => `${state} ${name} ${plan.name ?? "-"}`);
/** Waits until all events are these. */
const expectAll = (expected: string[]): Promise<void> =>
  eventually(async () => expect(present(await listAll())).toEqual(expected), 30_000);

beforeAll(async () => {
  [bench, broker] = [await startApiHarness(), await startScriptedBroker()];
  informers = createInformers({ client: bench.testEnv.kube, log });
  for (const ref of SERVICE_USAGE_RECORDER_KINDS) informers.ensure(ref);
  expect(await informers.waitSynced(30_000)).toBe(true);
  stopLeader = lead("leader-1");
  space = await bench.space(await bench.org("org"), "space");
  namespace = bench.testEnv.replicas[0].api.cache.store(Space).byIndex("guid", space.guid)[0]?.status?.namespace ?? "";
  await makeCatalog(bench, broker);
});
afterAll(async () => {
  await stopLeader();
  await informers.close();
  await bench.testEnv.stop();
  await broker.stop();
});

const patch = (name: string, spec: object): Promise<ServiceInstance> =>
  bench.testEnv.kube.patch(ServiceInstance, { namespace, name }, { type: "merge", body: { spec } });

test("instances of a broker and of a user leave an event each, through every door", async () => {
  const planRef = { namespace: SYSTEM, name: "small" };
  await bench.testEnv.kube.create(ServiceInstance, {
    metadata: { name: "db", namespace },
    spec: { type: "managed", planRef },
  });
  await expectAll(["CREATED db small"]);
  const body = { type: "user-provided", name: "mine", relationships: { space: to(space) } };
  expect((await bench.call("POST", "/v3/service_instances", body)).status).toBe(201);
  await expectAll(["CREATED db small", "CREATED mine -"]);
  const [managed, own] = await listAll();
  for (const event of [managed, own])
    expect(shapeProblems("service_usage_event", event as unknown as Record<string, unknown>)).toEqual([]);
  expect(managed).toMatchObject({
    service_instance: { type: "managed_service_instance" },
    service_offering: { name: "db" },
    service_broker: { name: "scripted" },
    space: { guid: space.guid, name: "space" },
  });
  expect(own).toMatchObject({
    service_instance: { type: "user_provided_service_instance" },
    service_broker: { guid: null, name: null },
  });
  expect(await bench.read(`${URL}/${managed?.guid}`)).toEqual(managed);
});

test("another plan and another name are updates, once their broker has them", async () => {
  await patch("db", { planRef: { namespace: SYSTEM, name: "large" } });
  await expectAll(["CREATED db small", "CREATED mine -", "UPDATED db large"]);
  await patch("mine", { name: "ours" });
  await expectAll(["CREATED db small", "CREATED mine -", "UPDATED db large", "UPDATED ours -"]);
});

test("lists are filtered by type and offering, and read on from an event", async () => {
  const all = await listAll();
  const managed = await listAll("service_instance_types=managed_service_instance");
  expect(present(managed)).toEqual(["CREATED db small", "UPDATED db large"]);
  expect(await listAll(`service_offering_guids=${managed[0]?.service_offering.guid}`)).toEqual(managed);
  expect(await listAll("service_offering_guids=nope")).toEqual([]);
  expect(await listAll("service_instance_types=nope")).toEqual([]);
  expect(await listAll(`after_guid=${all[2]?.guid}`)).toEqual(all.slice(3));
  expect(fault(await bench.call("GET", `${URL}?after_guid=nope`))).toEqual([
    422,
    "CF-UnprocessableEntity",
    "After guid filter must be a valid service usage event guid.",
  ]);
  expect(fault(await bench.call("GET", `${URL}/nope`))).toEqual([
    404,
    "CF-ResourceNotFound",
    "Service usage event not found",
  ]);
});

test("others see none, and only an admin begins anew", async () => {
  const [first] = await listAll();
  expect((await bench.call("GET", URL, undefined, "bob")).json.resources).toEqual([]);
  expect((await bench.call("GET", `${URL}/${first?.guid}`, undefined, "bob")).status).toBe(404);
  expect((await bench.call("POST", PURGE, undefined, "bob")).status).toBe(403);
});

test("a new leader writes what happened while there was none, and nothing twice", async () => {
  await stopLeader();
  const before = present(await listAll());
  await bench.testEnv.kube.delete(ServiceInstance, { namespace, name: "mine" });
  stopLeader = lead("leader-2");
  await expectAll([...before, "DELETED ours -"]);
});

test("a purge leaves one event for each instance, with its GUID, and what follows is recorded", async () => {
  expect((await bench.call("POST", PURGE)).json).toEqual({});
  await expectAll(["CREATED db large"]);
  const [seed] = await listAll();
  expect(seed?.guid).toBe(seed?.service_instance.guid);
  expect((await bench.read("/v3/app_usage_events")).resources).toEqual([]);
  await bench.testEnv.kube.delete(ServiceInstance, { namespace, name: "db" });
  await expectAll(["CREATED db large", "DELETED db large"]);
});
