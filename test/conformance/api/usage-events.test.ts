// App usage events: what starts, stops, sizes, tasks and builds leave, who reads them, filters, a purge, and a change of the leader.
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Process } from "../../../crds/process/process.ts";
import { GLOBAL_AUDITOR_CLUSTER_ROLE } from "../../../crds/roles.ts";
import { UsageLog } from "../../../crds/usage-log/usage-log.ts";
import { createInformers, type Informers } from "../../../kube/cache/informers.ts";
import { applyObjects } from "../../../platform/install.ts";
import { createUsageRecorder, USAGE_RECORDER_KINDS } from "../../../platform/operations/usage-recorder.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, fault, startApiHarness } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";

const URL = "/v3/app_usage_events";
const PURGE = `${URL}/actions/destructively_purge_all_and_reseed`;
const log = pino({ level: "silent" });
let bench: ApiHarness;
let informers: Informers;
let stopLeader: () => Promise<void>;
let app: { guid: string };

/** Starts a leader; the returned function resolves when it has written its last events. */
function lead(writer: string): () => Promise<void> {
  const abort = new AbortController();
  const ended = createUsageRecorder({ informers, log, writer }).start(abort.signal, bench.testEnv.kube);
  return async () => {
    abort.abort();
    await ended;
  };
}

interface Change {
  current: unknown;
  previous: unknown;
}
interface Event {
  guid: string;
  state: Change;
  instance_count: Change;
  memory_in_mb_per_instance: Change;
  app: object;
  process: object;
}
const listAll = async (query = ""): Promise<Event[]> => (await bench.read(`${URL}?per_page=500&${query}`)).resources;
const present = (events: readonly Event[]): string[] =>
  events.map(
    ({ state, instance_count: count, memory_in_mb_per_instance: memory }) =>
      `${String(state.previous)}>${String(state.current)} ${String(count.previous)}>${String(count.current)} ${String(memory.previous)}>${String(memory.current)}`,
  );
/** Waits until the newest events are these. */
const expectNewest = (expected: string[]): Promise<void> =>
  eventually(async () => expect(present((await listAll()).slice(-expected.length))).toEqual(expected), 30_000);

beforeAll(async () => {
  bench = await startApiHarness();
  informers = createInformers({ client: bench.testEnv.kube, log });
  for (const ref of USAGE_RECORDER_KINDS) informers.ensure(ref);
  expect(await informers.waitSynced(30_000)).toBe(true);
  stopLeader = lead("leader-1");
  const space = await bench.space(await bench.org("org"), "space");
  app = await bench.app(space, "shop");
  await applyObjects(bench.testEnv.kube, [
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "carl" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: GLOBAL_AUDITOR_CLUSTER_ROLE },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "carl" }],
    },
  ]);
});
afterAll(async () => {
  await stopLeader();
  await informers.close();
  await bench.testEnv.stop();
});

const key = { namespace: "org-space", name: "shop" };
const webKey = { namespace: "org-space", name: "shop.web" };
const patchApp = (spec: object) => bench.testEnv.kube.patch(App, key, { type: "merge", body: { spec } });
const patchWeb = (spec: object) => bench.testEnv.kube.patch(Process, webKey, { type: "merge", body: { spec } });

test("a start, new sizes and a stop leave an event each, through every door", async () => {
  await patchApp({ state: "Started" });
  await expectNewest(["STOPPED>STARTED 1>1 1024>1024"]);
  await patchWeb({ instances: 3 });
  await expectNewest(["STARTED>STARTED 1>3 1024>1024"]);
  await patchWeb({ memoryMB: 256 });
  await patchApp({ state: "Stopped" });
  await expectNewest(["STARTED>STARTED 3>3 1024>256", "STARTED>STOPPED 3>3 256>256"]);
  const [first] = await listAll();
  expect(shapeProblems("app_usage_event", first as unknown as Record<string, unknown>)).toEqual([]);
  expect(first).toMatchObject({
    app: { guid: app.guid, name: "shop" },
    process: { guid: app.guid, type: "web" },
    space: { name: "space" },
    buildpack: { guid: null, name: null },
    task: { guid: null, name: null },
  });
  expect(await bench.read(`${URL}/${first?.guid}`)).toEqual(first);
});

test("lists are filtered, ordered and read on from an event", async () => {
  const all = await listAll();
  expect(await listAll(`after_guid=${all[1]?.guid}`)).toEqual(all.slice(2));
  expect(await listAll(`after_guid=${all.at(-1)?.guid}`)).toEqual([]);
  expect(await listAll(`guids=${all[0]?.guid},${all[2]?.guid}`)).toEqual([all[0], all[2]]);
  expect(await listAll("order_by=-created_at")).toEqual(all.toReversed());
  expect(await listAll("created_ats[lt]=2020-01-01T00:00:00Z")).toEqual([]);
  for (const [query, detail] of [
    ["after_guid=nope", "After guid filter must be a valid app usage event guid."],
    ["updated_ats=2020-01-01T00:00:00Z", expect.stringContaining("updated_ats")],
    ["nope=1", expect.stringContaining("nope")],
  ] as const)
    expect(fault(await bench.call("GET", `${URL}?${query}`))).toEqual([422, "CF-UnprocessableEntity", detail]);
  expect(fault(await bench.call("GET", `${URL}/nope`))).toEqual([
    404,
    "CF-ResourceNotFound",
    "App usage event not found",
  ]);
});

test("who reads everything reads them, others see none; only an admin begins anew", async () => {
  const [first] = await listAll();
  expect((await bench.call("GET", URL, undefined, "carl")).json.resources).not.toEqual([]);
  expect((await bench.call("GET", URL, undefined, "bob")).json.resources).toEqual([]);
  expect((await bench.call("GET", `${URL}/${first?.guid}`, undefined, "bob")).status).toBe(404);
  for (const person of ["bob", "carl"] as const)
    expect((await bench.call("POST", PURGE, undefined, person)).status).toBe(403);
});

test("a new leader writes what happened while there was none, and nothing twice", async () => {
  await stopLeader();
  await patchApp({ state: "Started" });
  const before = (await listAll()).length;
  stopLeader = lead("leader-2");
  await expectNewest(["STARTED>STOPPED 3>3 256>256", "STOPPED>STARTED 3>3 256>256"]);
  expect(await listAll()).toHaveLength(before + 1);
});

test("a purge leaves one event for each running process, with its GUID, and what follows is recorded", async () => {
  expect((await bench.call("POST", PURGE)).json).toEqual({});
  const seeded = await listAll();
  expect(present(seeded)).toEqual(["STARTED>STARTED 3>3 256>256"]);
  expect(seeded[0]?.guid).toBe(app.guid);
  await patchWeb({ instances: 4 });
  await expectNewest(["STARTED>STARTED 3>3 256>256", "STARTED>STARTED 3>4 256>256"]);
});

test("kubectl delete begins anew, too", async () => {
  const { items } = await bench.testEnv.kube.list(UsageLog);
  for (const { metadata } of items) await bench.testEnv.kube.delete(UsageLog, metadata);
  await eventually(async () => {
    const [only, ...others] = await listAll();
    expect(only).toMatchObject({ state: { current: "STARTED" }, instance_count: { current: 4 } });
    expect(others).toEqual([]);
  }, 30_000);
});

test("an app that is deleted has stopped", async () => {
  await bench.call("DELETE", `/v3/apps/${app.guid}`);
  await expectNewest(["STARTED>STOPPED 4>4 256>256"]);
});
