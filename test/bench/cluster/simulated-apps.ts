// `npm run bench -- kwok`: apps with a route on nodes that kwok simulates, from nothing to all instances running: what an app costs the platform, early and late. By name; `CUPOLA_KWOK_APPS=10000` for ten thousand.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { IngressClass } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Operation } from "../../../platform/operations/operations.ts";
import { type Figure, figure } from "../figure.ts";
import { until } from "../until.ts";
import { setTimeout as delay } from "node:timers/promises";
import { countWrites, startBenchCluster, waitUntilIdle, type BenchCluster, type Replica } from "./bench-cluster.ts";
import { makeApps, makeSpaces, makeStoppedApps } from "./make-apps.ts";
import { startSimulatedNodes } from "./simulated-nodes.ts";

const APPS = Number(process.env["CUPOLA_KWOK_APPS"] ?? "1000");
/** The first apps are the measure for the others. */
const FIRST = Math.ceil(APPS / 10);
const STOPPED = Math.ceil(APPS * 0.17);
const SPACES = Math.min(100, Math.ceil(APPS / 10));
const NODES = Math.min(100, Math.ceil(APPS / 100));
const DOMAIN = "apps.example.org";
const IDLE_MS = 30_000;
/** Audit events wait up to 5 s for others of their space before they are written. */
const QUIET_MS = 7_000;
const CONTROLLERS: readonly Operation[] = ["controllers", "deployment-runner", "ingress-router"];
const SETTINGS = [
  systemObject(BackendClass, "deployment", { role: "runner", default: true }),
  systemObject(BackendClass, "ingress", { role: "router", default: true }),
  systemObject(Domain, DOMAIN, { name: DOMAIN }),
];
const INGRESS_CLASS = {
  metadata: { name: "bench", annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
  spec: { controller: "example.org/nobody" },
};

export async function measureSimulatedApps(): Promise<Figure[]> {
  const cluster = await startBenchCluster({
    controllerManagerFlags: ["--kube-api-qps=200", "--kube-api-burst=300"],
    settings: SETTINGS,
  });
  let stopNodes: (() => Promise<void>) | undefined;
  try {
    const { admin, controlPlane } = cluster;
    await admin.create(IngressClass, INGRESS_CLASS);
    stopNodes = await startSimulatedNodes(controlPlane, admin, NODES);
    return await measure(cluster);
  } finally {
    await stopNodes?.();
    await cluster.stop();
  }
}

async function measure(cluster: BenchCluster): Promise<Figure[]> {
  const { admin, start } = cluster;
  const controllers = await start(CONTROLLERS);
  const replicas = [controllers, await start(["instance-index"])];
  const spaces: string[] = [];
  for (let at = 0; at * 10 < SPACES; at++) spaces.push(...(await makeSpaces(admin, `org-${at}`, 10)));
  await waitUntilIdle(replicas);
  const atRest = await readMemory(controllers);
  const early = await measureApps(cluster, replicas, { spaces, prefix: "early", count: FIRST, running: FIRST });
  const late = await measureApps(cluster, replicas, { spaces, prefix: "late", count: APPS - FIRST, running: APPS });
  const full = await readMemory(controllers);
  logProgress(`${STOPPED} stopped apps`);
  await makeStoppedApps(admin, spaces, { prefix: "stopped", count: STOPPED });
  await waitUntilIdle(replicas, QUIET_MS);
  const idle = await countWrites(cluster, replicas, () => delay(IDLE_MS));
  logProgress(`requests of an idle platform: ${JSON.stringify(idle.byKind)}`);
  const what = `${APPS} apps with a route on ${NODES} simulated nodes`;
  return [
    figure(`${what}: the platform's writes per app, of the first ${FIRST}`, early.writes, "writes"),
    figure(`${what}: writes per app of the others, against the first`, late.writes / early.writes, "ratio", {
      max: 1.1,
    }),
    figure(`${what}: requests per app of the others`, late.requests, "requests"),
    figure(`${what}: all of the others run`, late.seconds, "s"),
    figure(
      `${what} and ${STOPPED} stopped: writes of an idle platform in ${IDLE_MS / 1000} s`,
      idle.attempts,
      "writes",
      {
        max: 0,
      },
    ),
    figure(`${what}: memory of the controllers per running app`, (full - atRest) / APPS / 1024, "KiB"),
    figure(`${what}: resident memory of the controllers`, await readResident(controllers), "MiB"),
  ];
}

interface Batch {
  spaces: readonly string[];
  prefix: string;
  count: number;
  /** LRPs that run in the end. */
  running: number;
}

/** Until all instances run and the platform is quiet; per app. */
async function measureApps(
  cluster: BenchCluster,
  replicas: readonly Replica[],
  { spaces, prefix, count, running }: Batch,
): Promise<{ writes: number; requests: number; seconds: number }> {
  logProgress(`${count} apps made`);
  const since = performance.now();
  let seconds = 0;
  const work = async (): Promise<void> => {
    await makeApps(cluster.admin, spaces, { prefix, count, state: "Started", domain: DOMAIN });
    await until(async () => (await countRunning(cluster.admin)) >= running, `${running} apps do not run`, 2_000);
    seconds = (performance.now() - since) / 1000;
  };
  const { attempts, requests } = await countWrites(cluster, replicas, work, QUIET_MS);
  return { writes: attempts / count, requests: requests / count, seconds };
}

async function countRunning(admin: KubeClient): Promise<number> {
  let found = 0;
  for await (const { items } of admin.pages(LRP, { limit: 500 }))
    found += items.filter(({ status }) => status?.runningInstances === 1).length;
  return found;
}

const readMemory = ({ child }: Replica): Promise<number> => child.request<number>("memory");
const readResident = async ({ child }: Replica): Promise<number> => (await child.request<number>("rss")) / 2 ** 20;
const logProgress = (what: string): void => void process.stderr.write(`kwok: ${what} …\n`);
