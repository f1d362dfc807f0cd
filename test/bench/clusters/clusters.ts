// The cost of many clusters: memory, connections, how soon a change reaches a cluster, and how one that does not answer delays the others.
import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import { localFacts } from "../../../controllers/placement-decision/clusters.ts";
import { place } from "../../../controllers/placement-decision/plan.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { PlacementDecision } from "../../../crds/placement-decision/placement-decision.ts";
import { Process } from "../../../crds/process/process.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { resourcePath } from "../../../kube/api/resource-ref.ts";
import { figure, told, type Figure } from "../figure.ts";
import { until } from "../until.ts";
import { CLUSTERS_OF_APP, startManyClusters, untilLRPs, type ManyClusters, type Size } from "./many-clusters.ts";
import type { SeenWrite } from "./simulated-spoke.ts";
import type { SpokeCounts } from "./spokes-process.ts";

/** `CUPOLA_BENCH_CLUSTERS` and `CUPOLA_BENCH_APPS` say how many there are. */
function sizeOf({ CUPOLA_BENCH_CLUSTERS, CUPOLA_BENCH_APPS }: NodeJS.ProcessEnv): Size {
  return { clusters: Number(CUPOLA_BENCH_CLUSTERS ?? 100), apps: Number(CUPOLA_BENCH_APPS ?? 500) };
}

const MIB = 1024 * 1024;
const IDLE_MS = 20_000;
/** Changes of processes while their way to a cluster is timed. */
const CHANGES_PER_SECOND = 15;
const PHASE_MS = 20_000;
/** Calm and with a cluster that does not answer, in turns: what else the machine does falls on both. */
const ROUNDS = 2;
const PARALLEL = 32;

export async function measureClusters(): Promise<Figure[]> {
  const size = sizeOf(process.env);
  const world = await startManyClusters(size);
  try {
    await world.rest();
    return [
      figure("clusters", size.clusters, ""),
      figure("apps, on 3 clusters each", size.apps, ""),
      figure("apps started from nothing, objects of kubectl included", size.apps / world.startSeconds, "a second"),
      ...told(measurePlacement()),
      ...told(await measureIdle(world, size)),
      ...told(await measureLostLRPs(world, size)),
      ...told(await measureChanges(world, size)),
      ...told(await measureMirror(world)),
      figure(
        "memory of the controllers at the end (RSS)",
        (await world.controllers.request<number>("rss")) / MIB,
        "MiB",
        {
          max: 1024,
        },
      ),
    ];
  } finally {
    await world.stop();
  }
}

/** The pure choice, of as many processes as the goal names. */
function measurePlacement(): Figure[] {
  const like = { ...localFacts([]), labels: { tier: "simulated" }, runners: new Map([["runner", "any"]]) };
  const clusters = Array.from({ length: 100 }, (_, at) => ({ ...like, name: `sim-${at}` }));
  const placement = { clusters: { matchLabels: { tier: "simulated" } }, count: CLUSTERS_OF_APP, tolerations: [] };
  const started = performance.now();
  for (let at = 0; at < 10_000; at++)
    place(
      {
        guid: `process-${at}`,
        instances: 3,
        runner: "runner",
        memoryMB: 64,
        hasVolumes: false,
        placement,
        failover: { mode: "manual", afterSeconds: 300 },
        now: 0,
        previous: [],
        isNewStart: true,
        kept: new Set(),
        mayBegin: () => true,
        isServing: () => true,
      },
      clusters,
    );
  return [
    figure("placement of 10,000 processes on 100 clusters", (performance.now() - started) / 1000, "s", { max: 2 }),
  ];
}

async function measureIdle(
  { spokes, controllers, apiserver }: ManyClusters,
  { clusters, apps }: Size,
): Promise<Figure[]> {
  const before = {
    spokes: await spokes.request<SpokeCounts>("counts"),
    hub: await apiserver.request<string>("version"),
  };
  await delay(IDLE_MS);
  const after = {
    spokes: await spokes.request<SpokeCounts>("counts"),
    hub: await apiserver.request<string>("version"),
  };
  const bytes = await controllers.request<number>("memory");
  return [
    figure("connections to a cluster, per replica", after.spokes.connections / clusters, ""),
    figure("writes to clusters while idle", after.spokes.writes - before.spokes.writes, "writes", { max: 0 }),
    figure("writes to the hub while idle, Leases included", Number(after.hub) - Number(before.hub), "in 20 s"),
    figure("memory of the controllers, live objects", bytes / MIB, "MiB", { max: 1024 }),
    figure("the same for each LRP elsewhere, all else included", bytes / 1024 / (apps * CLUSTERS_OF_APP), "KiB"),
  ];
}

/** All LRPs of all clusters are lost and made again, against a loop that writes the same LRPs there and does nothing else. */
async function measureLostLRPs({ spokes, rest }: ManyClusters, { apps }: Size): Promise<Figure[]> {
  const count = apps * CLUSTERS_OF_APP;
  const lists = await spokes.request<[string, KubeObject[]][]>("lrps");
  await spokes.request("wipe");
  const began = performance.now();
  await untilLRPs(spokes, count);
  const platform = count / ((performance.now() - began) / 1000);
  await rest();
  const limit = pLimit(PARALLEL);
  const bare = performance.now();
  await Promise.all(lists.flatMap(([url, lrps]) => lrps.map((lrp) => limit(() => writeBare(url, lrp)))));
  const loop = count / ((performance.now() - bare) / 1000);
  await rest();
  return [
    figure("LRPs made again after clusters lost them", platform, "a second"),
    figure("a loop that writes the same LRPs", loop, "a second"),
    figure("share of that loop", platform / loop, "", { min: 0.5 }),
  ];
}

async function writeBare(url: string, lrp: KubeObject): Promise<void> {
  const { managedFields, resourceVersion: _, ...metadata } = lrp.metadata;
  const { status: _status, ...rest } = lrp;
  const path = `${resourcePath(LRP, lrp.metadata)}`;
  const manager = managedFields?.[0]?.manager ?? "";
  const response = await fetch(`${url}${path}?fieldManager=${manager}`, {
    method: "PATCH",
    headers: { "content-type": "application/apply-patch+yaml" },
    body: JSON.stringify({ ...rest, metadata }),
  });
  await response.text();
}

interface Times {
  /** Milliseconds from the change of a process to the write of its LRP. */
  arrived: number[];
  lost: number;
}

async function measureChanges(world: ManyClusters, { apps }: Size): Promise<Figure[]> {
  const decisions = (await world.admin.list(PlacementDecision)).items;
  const onBlack = new Set(
    decisions
      .filter(({ spec }) => spec.assignments.some(({ cluster }) => cluster === "sim-0"))
      .map(({ metadata }) => metadata.name),
  );
  const [calm, black]: [Times, Times] = [
    { arrived: [], lost: 0 },
    { arrived: [], lost: 0 },
  ];
  const next = walk(world.processes, apps);
  for (let round = 0; round < ROUNDS; round++) {
    await timeChanges(world, { next, onBlack, into: calm });
    await world.spokes.request("blackHole", { name: "sim-0", isBlack: true });
    await timeChanges(world, { next, onBlack, into: black });
    await world.spokes.request("blackHole", { name: "sim-0", isBlack: false });
    await world.rest();
  }
  const ratio = quantile(black.arrived, 0.99) / quantile(calm.arrived, 0.99);
  return [
    figure("a change of a process until its LRP is written on a cluster, p50", quantile(calm.arrived, 0.5), "ms"),
    figure("the same, p95", quantile(calm.arrived, 0.95), "ms", { max: 200 }),
    figure("the same, p99", quantile(calm.arrived, 0.99), "ms"),
    figure("the same on all others while a cluster does not answer, p99", quantile(black.arrived, 0.99), "ms"),
    figure("which is so many times the p99 before", ratio, "", { max: 1.1 }),
    figure("changes that were not there 3 s after the last one", calm.lost + black.lost, "", { max: 0 }),
  ];
}

interface Change {
  at: number;
  process: ManyClusters["processes"][number];
}

/** Takes one process after the other: three instances and four in turns. */
function* walk(
  processes: ManyClusters["processes"],
  apps: number,
): Generator<{ process: Change["process"]; to: number }> {
  for (let at = 0; ; at++) {
    const process = processes[at % apps];
    if (process) yield { process, to: Math.floor(at / apps) % 2 === 0 ? CLUSTERS_OF_APP + 1 : CLUSTERS_OF_APP };
  }
}

async function timeChanges(
  { admin, spokes }: ManyClusters,
  given: { next: ReturnType<typeof walk>; onBlack: ReadonlySet<string>; into: Times },
): Promise<void> {
  await spokes.request("takeWrites");
  const changes: Change[] = [];
  const sent: Promise<unknown>[] = [];
  const began = performance.now();
  for (let at = 0; at * (1000 / CHANGES_PER_SECOND) < PHASE_MS; at++) {
    await delay(Math.max(0, began + at * (1000 / CHANGES_PER_SECOND) - performance.now()));
    const { process, to } = given.next.next().value as { process: Change["process"]; to: number };
    changes.push({ at: performance.timeOrigin + performance.now(), process });
    sent.push(admin.patch(Process, process, { type: "merge", body: { spec: { instances: to } } }));
  }
  await Promise.all(sent);
  await delay(3_000);
  const seen = Map.groupBy(await spokes.request<SeenWrite[]>("takeWrites"), ({ app }) => app);
  for (const { at, process } of changes) {
    if (given.onBlack.has(process.name)) continue;
    const first = seen.get(process.app)?.find((write) => write.at >= at);
    if (first) given.into.arrived.push(first.at - at);
    else given.into.lost++;
  }
}

/** An instance elsewhere that comes and goes forty times in four seconds: the decision of its process says so once a second at most. */
async function measureMirror({ admin, spokes, processes, rest }: ManyClusters): Promise<Figure[]> {
  const process = processes[0];
  if (!process) return [];
  const key = { namespace: process.namespace, name: process.name };
  const versions = new Set<string>();
  const look = async (): Promise<void> => {
    versions.add((await admin.get(PlacementDecision, key)).metadata.resourceVersion ?? "");
  };
  await look();
  const ended = performance.now() + 4_000;
  await until(async () => {
    await spokes.request("flip", process.app);
    await look();
    return performance.now() > ended;
  }, "the flips do not end");
  await rest();
  await look();
  return [figure("writes of a decision whose instances come and go", (versions.size - 1) / 5, "a second", { max: 1 })];
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
