// `npm run bench -- starts`: apps with a route, to all their Deployments, Services and Ingresses, against the floor; and memory at a thousand running LRPs. Needs a real control plane.
import pLimit from "p-limit";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { LABELS, STABLE_LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { Deployment, Ingress, IngressClass, Pod, Service } from "../../../kube/api/builtin.ts";
import type { ObjectOf, ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Operation } from "../../../platform/operations/operations.ts";
import { type Figure, figure, told } from "../figure.ts";
import type { Requests } from "../platform-process.ts";
import { until } from "../until.ts";
import { countWrites, startBenchCluster, waitUntilIdle, type BenchCluster, type Replica } from "./bench-cluster.ts";
import { expectMore, makeApps, makeSpaces, PARALLEL, startApps } from "./make-apps.ts";
import { collectFinalObjects, removeBaseline, writeBaseline } from "./write-baseline.ts";

const STARTED = 200;
const CREATED = 1000;
const DOMAIN = "apps.example.org";
/** A process, as the chart installs them. */
const CONTROLLERS: readonly Operation[] = ["controllers", "deployment-runner", "ingress-router"];
/** Operations that spaces and pods need, and none that acts on Deployments, Services or pods: that would be Kubernetes' own cost. */
const CONTROLLER_MANAGER_FLAGS = ["--controllers=namespace-controller,serviceaccount-controller"];
const SETTINGS = [
  systemObject(BackendClass, "deployment", { role: "runner", default: true }),
  systemObject(BackendClass, "ingress", { role: "router", default: true }),
  systemObject(Domain, DOMAIN, { name: DOMAIN }),
];
const DEFAULT_INGRESS_CLASS = {
  metadata: { name: "bench", annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } },
  spec: { controller: "example.org/nobody" },
};

export async function measureStarts(): Promise<Figure[]> {
  const plane = await startBenchCluster({
    controllerManagerFlags: CONTROLLER_MANAGER_FLAGS,
    settings: SETTINGS,
  });
  try {
    await plane.admin.create(IngressClass, DEFAULT_INGRESS_CLASS);
    const controllers = await plane.start(CONTROLLERS);
    const namespaces = await makeSpaces(plane.admin, "starts", 10);
    const started = told(await measureStarted(plane, controllers, namespaces));
    // Else their routes would be said to be without an instance while the next apps are made.
    await makePods(plane.admin);
    await waitUntilRunning(plane.admin, controllers);
    return [...started, ...told(await measureCreated(plane, controllers, namespaces)), ...(await measureMemory(plane))];
  } finally {
    await plane.stop();
  }
}

const logProgress = (what: string): void => void process.stderr.write(`starts: ${what} …\n`);

/** Requests for each app. */
function logRequests(before: Requests, after: Requests, apps: number): void {
  const each = Object.entries(after.byKind).map(([what, count]): [string, number] => [
    what,
    (count - (before.byKind[what] ?? 0)) / apps,
  ]);
  for (const [what, count] of each.toSorted((a, b) => b[1] - a[1]))
    if (count >= 0.01) process.stderr.write(`${count.toFixed(2).padStart(8)} ${what}\n`);
}

/** Nothing runs here, so a minute after its start a route is said to be without an instance, with Events: that is no cost of a start. */
async function logUnserved(admin: KubeClient): Promise<void> {
  const bindings = (await admin.list(RouteBinding)).items;
  const unserved = bindings.filter(({ status }) => status?.conditions?.some(({ status: is }) => is === "False"));
  if (unserved.length > 0)
    process.stderr.write(
      `starts: ${unserved.length} routes were a minute without an instance, which cost 4 requests each: a quiet machine is faster\n`,
    );
}

/** Stopped apps with a route, whose Services and Ingresses are there already, started to all their Deployments. */
async function measureStarted(
  plane: BenchCluster,
  controllers: Replica,
  namespaces: readonly string[],
): Promise<Figure[]> {
  const { admin } = plane;
  const apps = { prefix: "start", count: STARTED };
  const routed = await expectAll(admin, [Service, Ingress], STARTED);
  await makeApps(admin, namespaces, { ...apps, state: "Stopped", domain: DOMAIN });
  await routed();
  await waitUntilIdle([controllers]);
  logProgress(`${STARTED} stopped apps started`);
  let ms = 0;
  const before = await controllers.requests();
  const { requests, written } = await countWrites(plane, [controllers], async () => {
    const there = await expectAll(admin, [LRP, Deployment], STARTED);
    ms = await timed(async () => {
      await startApps(admin, namespaces, apps);
      await there();
    });
  });
  logRequests(before, await controllers.requests(), STARTED);
  const what = `${STARTED} stopped apps with a route started`;
  return [
    figure(`${what} to all Deployments there`, ms / 1000, "s"),
    figure(`${what}, until all is said: the platform's requests per app`, requests / STARTED, "requests", { max: 9 }),
    figure(`${what}: writes per app, the one that starts it too`, written / STARTED, "writes"),
  ];
}

/** Apps with a route made, to all their Deployments, Services and Ingresses, and the floor of the same. The platform is stopped then. */
async function measureCreated(
  plane: BenchCluster,
  controllers: Replica,
  namespaces: readonly string[],
): Promise<Figure[]> {
  const { admin } = plane;
  logProgress(`${CREATED} apps created`);
  const times = { ms: 0, inAll: 0 };
  const before = await controllers.requests();
  const { requests, written } = await countWrites(plane, [controllers], async () => {
    const there = await expectAll(admin, [LRP, Deployment, Service, Ingress], CREATED);
    times.inAll = await timed(async () => {
      times.ms = await timed(async () => {
        await makeApps(admin, namespaces, { prefix: "create", count: CREATED, state: "Started", domain: DOMAIN });
        await there();
      });
      await controllers.child.request("idle");
    });
  });
  logRequests(before, await controllers.requests(), CREATED);
  await logUnserved(admin);
  await controllers.stop();
  logProgress("the floor of the same");
  const final = await collectFinalObjects(admin, "create");
  const baseline = await writeBaseline(plane, final, "floor");
  await removeBaseline(admin, final, "floor");
  const what = `${CREATED} apps with a route made`;
  return [
    figure(
      `${what} to all Deployments, Services and Ingresses, against the floor: time`,
      times.ms / baseline.ms,
      "ratio",
      {
        max: 1.15,
      },
    ),
    figure(`${what} until nothing is left to say of them, against the floor: time`, times.inAll / baseline.ms, "ratio"),
    figure(`${what}, against the floor: writes`, written / baseline.writes, "ratio"),
    figure(`${what}: the platform's requests per app`, requests / CREATED, "requests"),
    figure(`${what} to all Deployments, Services and Ingresses`, times.ms / 1000, "s"),
    figure(`the floor of the same (${baseline.writes} writes)`, baseline.ms / 1000, "s"),
  ];
}

/** Resident memory of one API and of the controllers, both started on a cluster where all LRPs run. */
async function measureMemory({ admin, start }: BenchCluster): Promise<Figure[]> {
  logProgress("all LRPs made to run");
  await makePods(admin);
  const controllers = await start(CONTROLLERS);
  await waitUntilRunning(admin, controllers);
  const lrps = (await admin.list(LRP)).items;
  const api = await start(["api"]);
  const what = `at ${lrps.length} running LRPs`;
  return [
    figure(`resident memory of an API ${what}`, (await api.child.request<number>("rss")) / 2 ** 20, "MiB"),
    figure(
      `resident memory of the controllers ${what}`,
      (await controllers.child.request<number>("rss")) / 2 ** 20,
      "MiB",
    ),
  ];
}

const isRunning = ({ status }: LRP): boolean => status?.runningInstances === 1;

/** Makes the pods of all LRPs that do not run. */
async function makePods(admin: KubeClient): Promise<void> {
  const waiting = (await admin.list(LRP)).items.filter((lrp) => !isRunning(lrp));
  const limit = pLimit(PARALLEL);
  await Promise.all(waiting.map((lrp) => limit(() => makePod(admin, lrp))));
}

/** Waits until the controllers say that all LRPs run, and have nothing left to say. */
async function waitUntilRunning(admin: KubeClient, controllers: Replica): Promise<void> {
  await until(async () => (await admin.list(LRP)).items.every(isRunning), "the LRPs do not run", 1000);
  await waitUntilIdle([controllers]);
}

/** The pod that a kubelet would report: bound, running and ready. */
async function makePod(admin: KubeClient, { metadata }: LRP): Promise<void> {
  const { name, namespace = "" } = metadata;
  const deployment = await admin.get(Deployment, { namespace, name });
  const template = deployment.spec?.template;
  const { schedulingGates: _, ...spec } = (template?.spec ?? { containers: [] }) satisfies ObjectOf<typeof Pod>["spec"];
  const labels = { ...template?.metadata?.labels, [LABELS.lrp]: name, [STABLE_LABELS.instanceIndex]: "0" };
  const key = { name: `${name}-pod`, namespace };
  await admin.create(Pod, { metadata: { ...key, labels }, spec: { ...spec, nodeName: "nobody" } });
  const now = new Date().toISOString();
  const container = { name: "application", image: "", imageID: "", ready: true, started: true, restartCount: 0 };
  const status = {
    phase: "Running",
    podIP: "10.0.0.1",
    startTime: now,
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: now }],
    containerStatuses: [{ ...container, state: { running: { startedAt: now } } }],
  };
  await admin.patch(Pod, key, { type: "strategic", body: { status } }, { subresource: "status" });
}

/** As `expectMore`, of several kinds: one after another, since each look is a request that the floor is written without. */
async function expectAll(admin: KubeClient, refs: readonly ResourceRef[], count: number): Promise<() => Promise<void>> {
  const waits = await Promise.all(refs.map((ref) => expectMore(admin, ref, count)));
  return async () => {
    for (const wait of waits) await wait();
  };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
