// The CF API beside constraints: what its writes and reads cost more, by time and by processor time, and its start.
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import type { BenchCluster, Replica } from "../cluster/bench-cluster.ts";
import { type Figure, figure, median } from "../figure.ts";
import { until } from "../until.ts";
import { apiServerMetrics, type Latency, toLatency } from "./api-server.ts";
import { CONSTRAINTS, deleteConstraints, makeConstraints, MATCHING } from "./constraints.ts";
import { logProgress, type Apps, WRITTEN } from "./policy-apps.ts";

const ROUNDS = 8;
/** Rounds that are not counted, since code is slow when it runs for the first time. */
const WARM_UP = 4;
const MORE = 300;

/** The CF API alone: no process has compiled the constraints for kube-apiserver. */
export async function measureCFAPI(plane: BenchCluster, apps: Apps): Promise<Figure[]> {
  logProgress("the CF API without constraints");
  const api = await plane.start(["api"]);
  const guids = await findGuids(api, plane.developerToken, apps.namespaces.length);
  const before = { write: await writesOf(api, plane, guids), read: await readsOf(api, plane, guids) };
  const bytes = await api.child.request<number>("memory");
  logProgress(`the CF API with ${CONSTRAINTS} constraints`);
  await makeConstraints(plane.admin, { count: CONSTRAINTS, space: apps.space });
  await until(async () => (await patch(api, plane, guids[0] ?? "", { owner: null })).status === 422, "no refusal");
  await delay(2_000);
  const bytesAdded = (await api.child.request<number>("memory")) - bytes;
  const after = { write: await writesOf(api, plane, guids), read: await readsOf(api, plane, guids) };
  const readRequests = (await countReadRequests(api, plane, guids)) / guids.length;
  await api.stop();
  const added = (of: keyof Cost): number => after.write[of] - before.write[of];
  return [
    figure(
      `CF API: PATCH of an app that ${MATCHING} constraints match: processor time of its process added`,
      added("cpuMs"),
      "ms",
      { max: 0.5 },
    ),
    figure("the same: processor time of its process without constraints", before.write.cpuMs, "ms"),
    figure("the same: processor time of kube-apiserver added, which has no policy yet", added("apiServerCpuMs"), "ms"),
    figure("the same: time added, p50", added("p50"), "ms"),
    figure("the same: time added, p99", added("p99"), "ms", { max: 2 }),
    figure("the same: p50 against none", after.write.p50 / before.write.p50, "ratio"),
    figure(
      `CF API: GET of an app beside ${CONSTRAINTS} constraints, against none: p50`,
      after.read.p50 / before.read.p50,
      "ratio",
    ),
    figure("requests to kube-apiserver for it", readRequests, "requests", { max: 0 }),
    figure("CF API: memory for each constraint", bytesAdded / CONSTRAINTS / 1024, "KiB", { max: 60 }),
  ];
}

async function call({ url }: Replica, token: string, path: string, patch?: object) {
  const { statusCode, body: answer } = await request(`${url}${path}`, {
    method: patch ? "PATCH" : "GET",
    headers: { authorization: `bearer ${token}`, "content-type": "application/json" },
    ...(patch && { body: JSON.stringify(patch) }),
  });
  return { status: statusCode, json: (await answer.json()) as Record<string, unknown> };
}

/** Guids of apps in the first space. */
async function findGuids(api: Replica, token: string, spaces: number): Promise<string[]> {
  const names = Array.from({ length: WRITTEN }, (_, at) => `app-${at * spaces}`).join(",");
  const { json } = await call(api, token, `/v3/apps?names=${names}&per_page=${WRITTEN}`);
  const guids = (json["resources"] as { guid: string }[]).map(({ guid }) => guid);
  if (guids.length !== WRITTEN) throw new Error(`the CF API shows ${guids.length} of ${WRITTEN} apps`);
  return guids;
}

const patch = (api: Replica, { developerToken }: BenchCluster, guid: string, labels: object) =>
  call(api, developerToken, `/v3/apps/${guid}`, { metadata: { labels } });

interface Cost extends Latency {
  /** Processor time of the API's process, in milliseconds a write. */
  cpuMs: number;
  apiServerCpuMs: number;
}

async function writesOf(api: Replica, plane: BenchCluster, guids: readonly string[]): Promise<Cost> {
  const writeAll = async (rounds: number): Promise<number[]> => {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++)
      for (const guid of guids) {
        const start = performance.now();
        const { status, json } = await patch(api, plane, guid, { round: `r${round + Date.now()}` });
        if (status !== 200) throw new Error(`PATCH was answered ${status}: ${JSON.stringify(json)}`);
        times.push(performance.now() - start);
      }
    return times;
  };
  const seen = async () => ({
    own: await api.child.request<number>("cpu"),
    apiServer: (await apiServerMetrics(plane)).cpuSeconds,
  });
  await writeAll(WARM_UP);
  const before = await seen();
  const times = await writeAll(ROUNDS);
  const after = await seen();
  return {
    ...toLatency(times),
    cpuMs: (after.own - before.own) / 1000 / times.length,
    apiServerCpuMs: ((after.apiServer - before.apiServer) * 1000) / times.length,
  };
}

async function readsOf(api: Replica, { developerToken }: BenchCluster, guids: readonly string[]): Promise<Latency> {
  const times: number[] = [];
  for (let round = -5; round < ROUNDS * 4; round++)
    for (const guid of guids) {
      const start = performance.now();
      await call(api, developerToken, `/v3/apps/${guid}`);
      if (round >= 0) times.push(performance.now() - start);
    }
  return toLatency(times);
}

async function countReadRequests(
  api: Replica,
  { developerToken }: BenchCluster,
  guids: readonly string[],
): Promise<number> {
  const count = async (): Promise<number> => {
    const { all, leases } = await api.requests();
    return all - leases;
  };
  const before = await count();
  for (const guid of guids) await call(api, developerToken, `/v3/apps/${guid}`);
  return (await count()) - before;
}

interface Start {
  seconds: number;
  /** Processor time until it is ready. */
  cpuSeconds: number;
}

/** The added cost of a start beside 500 constraints. */
export async function measureStartWithMore(plane: BenchCluster, space: string): Promise<Figure[]> {
  const startOnce = async (): Promise<Start> => {
    const start = performance.now();
    const api = await plane.start(["api"]);
    const seconds = (performance.now() - start) / 1000;
    const cpuSeconds = (await api.child.request<number>("cpu")) / 1e6;
    await api.stop();
    return { seconds, cpuSeconds };
  };
  const measureStart = async (): Promise<Start> => {
    const starts = [await startOnce(), await startOnce(), await startOnce()];
    return {
      seconds: median(starts.map(({ seconds }) => seconds)),
      cpuSeconds: median(starts.map(({ cpuSeconds }) => cpuSeconds)),
    };
  };
  logProgress(`starts beside ${CONSTRAINTS + MORE} constraints and without`);
  await makeConstraints(plane.admin, { first: CONSTRAINTS, count: MORE, space });
  const many = await measureStart();
  await deleteConstraints(plane.admin);
  const none = await measureStart();
  return [
    figure(
      `CF API: start to ready beside ${CONSTRAINTS + MORE} constraints, processor time added`,
      many.cpuSeconds - none.cpuSeconds,
      "s",
      { max: 2 },
    ),
    figure("the same: time added", many.seconds - none.seconds, "s"),
  ];
}
