// Operator policy of Cupola: 200 constraints over 10,000 apps, 20 of them on the apps that are written.
import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import { request } from "undici";
import { App } from "../../../crds/app/app.ts";
import { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "../../../kube/api/builtin.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { type BenchCluster, countWrites, type Replica, waitUntilIdle } from "../cluster/bench-cluster.ts";
import { makeSpaces, PARALLEL } from "../cluster/make-apps.ts";
import { type Figure, figure, median } from "../figure.ts";
import { until } from "../until.ts";
import {
  apiServerMetrics,
  isDenied,
  type Latency,
  measureApiServerWrites,
  timeUntil,
  toLatency,
  type WriteCost,
} from "./api-server.ts";
import {
  CONSTRAINTS,
  countEnforced,
  deleteConstraints,
  makeConstraints,
  MATCHING,
  nameOf,
  OWNED,
  RequiredLabels,
} from "./constraints.ts";

export const APPS = 10_000;
const SPACES = 10;
const WRITTEN = 50;
const ROUNDS = 8;
const CHANGES = 5;
const REPLICAS = 3;
const IDLE_MS = 30_000;
const MORE = 300;

/** Spaces with apps: those of the first are written, and meet 20 constraints. */
export interface Apps {
  namespaces: string[];
  /** The first space, as `org/space`. */
  space: string;
  written: string[];
}

export const logProgress = (what: string): void => void process.stderr.write(`policy: ${what} …\n`);

/** Makes the spaces and the written apps with the platform's controllers, which give them claims, then the others without. */
export async function makePolicyApps(plane: BenchCluster): Promise<Apps> {
  logProgress(`${APPS} apps`);
  const platform = await plane.start(["controllers", "policies"]);
  const namespaces = await makeSpaces(plane.admin, "bench", SPACES);
  const [first = ""] = namespaces;
  await until(async () => (await plane.admin.list(RequiredLabels).catch(() => undefined)) !== undefined, "no kind");
  const limit = pLimit(PARALLEL);
  const create = (at: number) =>
    plane.admin.create(App, {
      metadata: { namespace: namespaces[at % SPACES] ?? "", name: `app-${at}`, labels: OWNED },
      spec: {},
    });
  const numbers = Array.from({ length: APPS }, (_, at) => at);
  const written = numbers.filter((at) => at % SPACES === 0).slice(0, WRITTEN);
  await Promise.all(written.map(create));
  await waitUntilIdle([platform]);
  await platform.stop();
  await Promise.all(numbers.filter((at) => !written.includes(at)).map((at) => limit(() => create(at))));
  return { namespaces, space: `bench/${first.replace(/^bench-/, "")}`, written: written.map((at) => `app-${at}`) };
}

export interface OurFigures {
  figures: Figure[];
  /** Beside Gatekeeper's. */
  write: WriteCost;
  bare: WriteCost;
  inForceMs: number;
}

export async function measureOurs(plane: BenchCluster, apps: Apps): Promise<OurFigures> {
  const [namespace = ""] = apps.namespaces;
  const bare = await measureApiServerWrites(plane, { namespace, names: apps.written, rounds: ROUNDS });
  const cfAPI = await measureCFAPI(plane, apps);
  const before = await apiServerMetrics(plane);
  const started = await measureStart(plane);
  const after = await apiServerMetrics(plane);
  const write = await measureApiServerWrites(plane, { namespace, names: apps.written, rounds: ROUNDS });
  const [, elsewhereIn = ""] = apps.namespaces;
  const names = apps.written.map((_, at) => `app-${at * SPACES + 1}`);
  const elsewhere = await measureApiServerWrites(plane, { namespace: elsewhereIn, names, rounds: ROUNDS });
  const { replicas } = started;
  const changes = await measureChanges(plane, replicas, namespace);
  const restart = await measureRestart(plane, replicas);
  logProgress(`${IDLE_MS / 1000} s idle`);
  await waitUntilIdle(replicas);
  const idle = await countWrites(plane, replicas, () => delay(IDLE_MS));
  await Promise.all(replicas.map((one) => one.stop()));
  const startUp = await measureStartWithMore(plane, apps.space);
  await deleteConstraints(plane.admin);
  return {
    write,
    bare,
    inForceMs: changes.deniedMs,
    figures: [
      ...cfAPI,
      figure(
        `kube-apiserver: write of an app that ${MATCHING} of ${CONSTRAINTS} constraints match, against none: p50`,
        write.p50 / bare.p50,
        "ratio",
      ),
      figure("the same: p99", write.p99 / bare.p99, "ratio"),
      figure("the same: processor time added", write.cpuMs - bare.cpuMs, "ms a write", { max: 10 }),
      figure(
        `write of an app that none of ${CONSTRAINTS} constraints match: processor time added`,
        elsewhere.cpuMs - bare.cpuMs,
        "ms a write",
      ),
      figure(
        `kube-apiserver: memory for each of ${CONSTRAINTS} constraints`,
        (after.residentBytes - before.residentBytes) / CONSTRAINTS / 1024,
        "KiB",
      ),
      ...started.figures,
      figure("apply of a change to Enforced", changes.enforcedMs / 1000, "s", { max: 3 }),
      figure("apply of a change to the first refusal", changes.deniedMs / 1000, "s"),
      figure(`writes of a change, ${REPLICAS} replicas, its own left out`, changes.writes, "writes", {
        max: REPLICAS + 2,
      }),
      figure(`the same, of each app that it concerns`, changes.writesPerApp, "writes", { max: 1 }),
      figure(`rolling restart of ${REPLICAS} replicas: constraints, policies and bindings written`, restart, "writes", {
        max: 0,
      }),
      figure(`idle, ${IDLE_MS / 1000} s: writes, Leases apart`, idle.written, "writes", { max: 0 }),
      ...startUp,
    ],
  };
}

/** The CF API alone: no process has compiled the constraints for kube-apiserver. */
async function measureCFAPI(plane: BenchCluster, apps: Apps): Promise<Figure[]> {
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
  return [
    figure(
      `CF API: PATCH of an app that ${MATCHING} constraints match, against none: p50`,
      after.write.p50 / before.write.p50,
      "ratio",
    ),
    figure("the same: time added, p50", after.write.p50 - before.write.p50, "ms", { max: 0.5 }),
    figure("the same: time added, p99", after.write.p99 - before.write.p99, "ms", { max: 2 }),
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

async function writesOf(api: Replica, plane: BenchCluster, guids: readonly string[]): Promise<Latency> {
  const times: number[] = [];
  for (let round = -1; round < ROUNDS; round++)
    for (const guid of guids) {
      const start = performance.now();
      const { status, json } = await patch(api, plane, guid, { round: `r${round + Date.now()}` });
      if (status !== 200) throw new Error(`PATCH was answered ${status}: ${JSON.stringify(json)}`);
      if (round >= 0) times.push(performance.now() - start);
    }
  return toLatency(times);
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

/** Three replicas start beside 200 constraints: until all are in force and audited. */
async function measureStart(plane: BenchCluster): Promise<{ replicas: Replica[]; figures: Figure[] }> {
  logProgress(
    `${REPLICAS} replicas of the operation policies, ${CONSTRAINTS} constraints to put in force and to audit`,
  );
  const start = performance.now();
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => plane.start(["policies"])));
  await until(async () => (await countEnforced(plane.admin)) === CONSTRAINTS, "not all are in force", 250);
  const inForceS = (performance.now() - start) / 1000;
  await until(
    async () => {
      const { items } = await plane.admin.list(RequiredLabels);
      return items.every(({ status }) => status?.totalViolations !== undefined);
    },
    "not all are audited",
    250,
  );
  const auditedS = (performance.now() - start) / 1000;
  const cpus = await Promise.all(replicas.map(({ child }) => child.request<number>("cpu")));
  const rss = await Promise.all(replicas.map(({ child }) => child.request<number>("rss")));
  return {
    replicas,
    figures: [
      figure(`start of ${REPLICAS} replicas until all ${CONSTRAINTS} constraints are in force`, inForceS, "s"),
      figure(`the same until all are audited over ${APPS} apps`, auditedS, "s"),
      figure("processor time of the leader until then, its start included", Math.max(...cpus) / 1e6, "s", { max: 20 }),
      figure("resident memory of the leader then", Math.max(...rss) / 2 ** 20, "MiB"),
    ],
  };
}

/** A change of one constraint, to a label that the apps lack and back; the audit says so on the apps of the space. */
async function measureChanges({ admin, ...plane }: BenchCluster, replicas: readonly Replica[], namespace: string) {
  logProgress("changes of a constraint");
  const name = nameOf(0);
  const enforced: number[] = [];
  const denied: number[] = [];
  const apply = (key: string): Promise<unknown> => changeLabels(admin, name, key);
  const isEnforced = async (): Promise<boolean> => {
    const { metadata, status } = await admin.get(RequiredLabels, { name });
    return status?.enforced === true && status.observedGeneration === metadata.generation;
  };
  for (let at = 0; at < CHANGES; at++) {
    await apply(`k${at}`);
    const waits = [timeUntil(isEnforced), timeUntil(() => isDenied(admin, namespace, OWNED))];
    const [toEnforced = NaN, toDenied = NaN] = await Promise.all(waits);
    enforced.push(toEnforced);
    denied.push(toDenied);
    await apply("owner");
    await timeUntil(async () => (await isEnforced()) && !(await isDenied(admin, namespace, OWNED)));
  }
  const whole = { admin, ...plane };
  // In a space without apps nobody is concerned: what is counted is the constraint's own.
  await waitUntilIdle(replicas);
  const alone = await countWrites(whole, replicas, async () => {
    await changeLabels(admin, nameOf(MATCHING), "x");
    await delay(5_000);
  });
  const concerned = APPS / SPACES;
  const all = await countWrites(whole, replicas, async () => {
    await apply("x");
    await untilViolations(admin, (count) => count >= concerned);
    await delay(10_000);
  });
  return {
    enforcedMs: median(enforced),
    deniedMs: median(denied),
    writes: alone.written - 1,
    writesPerApp: (all.written - alone.written) / concerned,
  };
}

/** How many constraints, policies and bindings are written while each replica is replaced. */
async function measureRestart({ admin, start }: BenchCluster, replicas: Replica[]): Promise<number> {
  logProgress("a rolling restart");
  await changeLabels(admin, nameOf(0), "owner");
  await untilViolations(admin, (count) => count < 2);
  await waitUntilIdle(replicas);
  const before = await listVersions(admin);
  for (const old of [...replicas]) {
    const fresh = await start(["policies"]);
    await old.stop();
    replicas.splice(replicas.indexOf(old), 1, fresh);
  }
  await delay(20_000);
  const after = await listVersions(admin);
  return after.filter((version) => !before.includes(version)).length;
}

/** The audit of the first constraint. The space has no label, so that it is one violation itself. */
function untilViolations(admin: KubeClient, isReached: (count: number) => boolean): Promise<void> {
  const read = async (): Promise<boolean> => {
    const { status } = await admin.get(RequiredLabels, { name: nameOf(0) });
    return isReached(status?.totalViolations ?? NaN);
  };
  return until(read, "the audit does not say so");
}

/** Kind, name and version of all that belongs to constraints. */
async function listVersions(admin: KubeClient): Promise<string[]> {
  const refs = [RequiredLabels, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding] as ResourceRef[];
  const lists = await Promise.all(refs.map((ref) => admin.list(ref)));
  return lists.flatMap(({ items }, at) =>
    items.map(({ metadata }) => `${refs[at]?.kind} ${metadata.name} ${metadata.resourceVersion}`),
  );
}

function changeLabels(admin: KubeClient, name: string, key: string): Promise<unknown> {
  return admin.patch(
    RequiredLabels,
    { name },
    { type: "merge", body: { spec: { parameters: { labels: [{ key }] } } } },
  );
}

async function measureStartWithMore(plane: BenchCluster, space: string): Promise<Figure[]> {
  const timeStart = async (): Promise<number> => {
    const start = performance.now();
    const api = await plane.start(["api"]);
    const ms = performance.now() - start;
    await api.stop();
    return ms;
  };
  logProgress(`starts beside ${CONSTRAINTS + MORE} constraints and without`);
  await makeConstraints(plane.admin, { first: CONSTRAINTS, count: MORE, space });
  const many = median([await timeStart(), await timeStart(), await timeStart()]);
  await deleteConstraints(plane.admin);
  const none = median([await timeStart(), await timeStart(), await timeStart()]);
  return [
    figure(`CF API: start to ready beside ${CONSTRAINTS + MORE} constraints, added`, (many - none) / 1000, "s", {
      max: 2,
    }),
  ];
}
