// The Log Cache API: lines and container metrics of an app, who may read them, and the same usage in `stats`.
import { afterAll, beforeAll, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../../crds/process/process.ts";
import { keyOf } from "../../../kube/api/object.ts";
import type { Envelope, LogQuery } from "../../../telemetry/envelope.ts";
import type { TelemetryClient } from "../../../telemetry/telemetry-client.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, fault, startApiHarness } from "./harness.ts";
import type { Answer, Replica, TestUser } from "./test-env.ts";

const MEASURED = "2026-01-01T00:00:01.000Z";
const SECOND = 1767225600n;
const line = (app: string, second: bigint): Envelope => ({
  timestamp: `${SECOND + second}000000000`,
  source_id: app,
  instance_id: "0",
  tags: { source_type: "APP/PROC/WEB", instance_id: "0" },
  log: { payload: Buffer.from(`line ${second}`).toString("base64"), type: "OUT" },
});
const row = { count: "3", expired: "0", oldestTimestamp: "1", newestTimestamp: "2" };

let bench: ApiHarness;
let replica: Replica;
let app: { guid: string };
let asked: LogQuery | undefined;
let lrpKey = "";
const telemetry = {
  readLogs: (source: string, query: LogQuery) => {
    asked = query;
    const lines = [line(source, 0n), line(source, 2n)];
    return Promise.resolve(query.descending ? lines.reverse() : lines);
  },
  stats: () =>
    Promise.resolve([
      { lrpKey, index: 0, usage: { time: "2026-01-01T00:00:01Z", cpu: 0.5, mem: 64.4, disk: 7, logRate: 9.6 } },
    ]),
  meta: () => Promise.resolve({ [app.guid]: row, "another-app": row }),
} as unknown as TelemetryClient;

beforeAll(async () => {
  bench = await startApiHarness();
  replica = await bench.testEnv.replica("telemetry", { telemetry });
  const space = await bench.space(await bench.org("org"), "space");
  app = await bench.app(space, "shop");
  await runInstance();
});
afterAll(() => bench.testEnv.stop());

/** An instance runs, by a class that measures. */
async function runInstance(): Promise<void> {
  const { kube } = bench.testEnv;
  await bench.droplet(app, "d1");
  const runner = (await kube.list(BackendClass)).items.find(({ spec }) => spec.role === "runner" && spec.default);
  if (!runner) throw new Error("no runner");
  const endpoint = { url: "http://127.0.0.1:1", secretRef: { name: "none" } };
  await kube.updateStatus(BackendClass, { ...runner, status: { ...runner.status, endpoint } });
  await kube.patch(
    Process,
    { namespace: "org-space", name: "shop.web" },
    { type: "merge", body: { spec: { cpu: "2" } } },
  );
  await kube.patch(
    App,
    { namespace: "org-space", name: "shop" },
    { type: "merge", body: { spec: { droplet: { name: "d1" }, state: "Started" } } },
  );
  const lrp = await eventually(async () => {
    const [found] = (await kube.list(LRP)).items;
    expect(found).toBeDefined();
    return found as LRP;
  }, 30_000);
  lrpKey = keyOf(lrp.metadata);
  const instances = [
    { index: 0, state: "Running" as const, ready: true, since: MEASURED, guid: "i0", host: "10.0.0.9" },
  ];
  await kube.updateStatus(LRP, { ...lrp, status: { instances, runningInstances: 1 } });
}

const get = (path: string, person: TestUser = "admin"): Promise<Answer> => replica.call(person, "GET", path);
interface Read {
  timestamp: string;
  log?: object;
  gauge?: { metrics: Record<string, { unit: string; value: number }> };
}
const read = async (query = ""): Promise<Read[]> => {
  const { status, json } = await get(`/api/v1/read/${app.guid}?${query}`);
  expect([query, status, json.errors]).toEqual([query, 200, undefined]);
  return json.envelopes.batch;
};
const kinds = (batch: readonly Read[]): string[] => batch.map(({ gauge }) => (gauge ? "gauge" : "log"));

test("lines and metrics come in one order, as many as the query asks for", async () => {
  await eventually(async () => expect(kinds(await read())).toEqual(["log", "gauge", "log"]), 30_000);
  expect(kinds(await read("descending=true&limit=2"))).toEqual(["log", "gauge"]);
  expect(kinds(await read("limit=2"))).toEqual(["log", "gauge"]);
  expect(kinds(await read("envelope_types=LOG"))).toEqual(["log", "log"]);
  expect(kinds(await read("envelope_types=gauge&envelope_types=LOG"))).toEqual(["log", "gauge", "log"]);
  expect(await read("envelope_types=COUNTER,TIMER,EVENT")).toEqual([]);
  expect(await read(`envelope_types=GAUGE&end_time=${SECOND}000000000`)).toEqual([]);
  expect(await read(`envelope_types=GAUGE&start_time=${SECOND + 2n}000000000`)).toEqual([]);
  await read("start_time=-6795364578871345152&limit=x&nope=1");
  expect(asked).toMatchObject({ start: -6795364578871345152n, limit: 100 });
});

test("metrics have Cloud Foundry's names, units and tags, and can be filtered by name", async () => {
  const [gauge] = await read("envelope_types=GAUGE");
  expect(gauge).toMatchObject({
    timestamp: `${SECOND + 1n}000000000`,
    source_id: app.guid,
    instance_id: "0",
    tags: { app_id: app.guid, app_name: "shop", space_name: "space", process_id: app.guid, process_type: "web" },
    gauge: {
      metrics: {
        cpu: { unit: "percentage", value: 50 },
        cpu_entitlement: { unit: "percentage", value: 25 },
        memory: { unit: "bytes", value: 64.4 },
        memory_quota: { unit: "bytes", value: 2 ** 30 },
        disk: { unit: "bytes", value: 7 },
        disk_quota: { unit: "bytes", value: 2 ** 30 },
        log_rate: { unit: "B/s", value: 9.6 },
        log_rate_limit: { unit: "B/s", value: 1048576 },
      },
    },
  });
  const [filtered] = await read("envelope_types=GAUGE&name_filter=^memory");
  expect(Object.keys(filtered?.gauge?.metrics ?? {})).toEqual(["memory", "memory_quota"]);
  expect(kinds(await read("name_filter=none"))).toEqual(["log", "log"]);
  expect(fault(await get(`/api/v1/read/${app.guid}?name_filter=(`))[0]).toBe(400);
});

test("an app on another cluster has the metrics that are measured there, with the same tags", async () => {
  const { kube } = bench.testEnv;
  const there = await bench.app(await bench.space(await bench.org("far"), "away"), "shop");
  const made = await kube.create(PlacementDecision, {
    metadata: {
      namespace: "far-away",
      name: "shop.web",
      labels: { [LABELS.app]: there.guid, [LABELS.process]: there.guid },
    },
    spec: {
      segment: "shared",
      app: there.guid,
      processType: "web",
      assignments: [{ cluster: "west", indexes: [{ start: 0, end: 0 }], state: "Active", reason: "Chosen" }],
    },
  });
  const placed = {
    name: "west",
    lrp: "shop-web",
    revision: "1",
    class: "deployment",
    processGUID: there.guid,
    memoryMB: 64,
    diskMB: 64,
    logRateLimitBytesPerSecond: -1,
    wanted: 1,
    instances: [{ index: 0, state: "Running" as const, ready: true, guid: "i7" }],
  };
  await kube.updateStatus(PlacementDecision, { ...made, status: { clusters: [placed] } });
  const known = lrpKey;
  lrpKey = "far-away/shop-web";
  try {
    const tags = { app_name: "shop", space_name: "away", organization_name: "far", process_type: "web" };
    await eventually(async () => {
      const { json } = await get(`/api/v1/read/${there.guid}?envelope_types=GAUGE`);
      expect(json.envelopes.batch).toMatchObject([
        { source_id: there.guid, instance_id: "0", tags: { ...tags, process_instance_id: "i7" } },
      ]);
    });
  } finally {
    lrpKey = known;
  }
});

test("stats say the same, in CF's units", async () => {
  const { json } = await get(`/v3/processes/${app.guid}/stats`);
  expect(json.resources[0]).toMatchObject({
    state: "RUNNING",
    routable: true,
    instance_guid: "i0",
    instance_internal_ip: "10.0.0.9",
    isolation_segment: null,
    log_rate_limit: 1048576,
    usage: { time: "2026-01-01T00:00:01Z", cpu: 0.5, cpu_entitlement: 0.25, mem: 64, disk: 7, log_rate: 10 },
  });
});

test("who may not read an app's logs sees neither them nor that there are any", async () => {
  expect((await get("/api/v1/meta")).json).toEqual({ meta: { [app.guid]: row } });
  expect((await get("/api/v1/meta", "bob")).json).toEqual({ meta: {} });
  expect((await get(`/api/v1/read/${app.guid}`, "bob")).status).toBe(404);
  expect((await get("/api/v1/read/nope")).status).toBe(404);
});

test("PromQL is refused, with where the metrics are", async () => {
  for (const path of ["query", "query_range"])
    expect(fault(await get(`/api/v1/${path}?query=up`))).toEqual([
      422,
      "CF-UnprocessableEntity",
      expect.stringContaining("envelope_types=GAUGE"),
    ]);
});
