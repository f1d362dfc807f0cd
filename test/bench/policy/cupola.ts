// Operator policy of Cupola on a real control plane: what its policies cost kube-apiserver, changes, restarts, rest and the audit.
import { setTimeout as delay } from "node:timers/promises";
import { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "../../../kube/api/builtin.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { type BenchCluster, countWrites, type Replica, waitUntilIdle } from "../cluster/bench-cluster.ts";
import { type Figure, figure, median } from "../figure.ts";
import { until } from "../until.ts";
import { apiServerMetrics, isDenied, measureApiServerWrites, timeUntil, type WriteCost } from "./api-server.ts";
import { measureCFAPI, measureStartWithMore } from "./cf-api.ts";
import {
  CONSTRAINTS,
  countEnforced,
  deleteConstraints,
  MATCHING,
  nameOf,
  OWNED,
  RequiredLabels,
} from "./constraints.ts";
import { APPS, type Apps, logProgress, SPACES } from "./policy-apps.ts";

const ROUNDS = 8;
const CHANGES = 5;
const REPLICAS = 3;
const IDLE_MS = 30_000;

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
      figure(`writes of ${REPLICAS} replicas for a change`, changes.attempts, "writes", { max: REPLICAS + 2 }),
      figure("all writes for it, Kubernetes' type checker of policies included", changes.written, "writes"),
      figure("writes for each app that begins to violate: its status and an Event", changes.writesPerApp, "writes", {
        max: 2,
      }),
      figure(`rolling restart of ${REPLICAS} replicas: constraints, policies and bindings written`, restart, "writes", {
        max: 0,
      }),
      figure(`idle, ${IDLE_MS / 1000} s: writes, Leases apart`, idle.written, "writes", { max: 0 }),
      ...startUp,
    ],
  };
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
    attempts: alone.attempts,
    written: alone.written - 1,
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
