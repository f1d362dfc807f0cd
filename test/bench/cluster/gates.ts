// `npm run bench -- gates`: how long new pods wait for their instance index, one by one and a thousand at once. Needs a real control plane.
import pLimit from "p-limit";
import { planGatePatch } from "../../../backends/runners/deployment/instance-index/open-gate.ts";
import type { PodObject } from "../../../backends/pods/slim-pod.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { lrpSpec } from "../../../crds/test-objects.ts";
import { Deployment, Namespace, Pod } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { type Figure, figure } from "../figure.ts";
import { until } from "../until.ts";
import { startBenchCluster } from "./bench-cluster.ts";
import { measureOpener } from "./opener.ts";

const NAMESPACE = "gates";
const ONE_BY_ONE = 100;
const LARGE = "large";
const CROWD = { lrps: 100, instances: 10 };
/** Requests that the opener sends at the same time. */
const CONNECTIONS = 32;
/**
 * kube-controller-manager's own limit would make a thousand pods in 50 s. With the credentials of one administrator, as tests have it, priority and fairness
 * would not count its requests: five hundred at a time, which no cluster sees.
 */
const CONTROLLER_MANAGER_FLAGS = [
  "--kube-api-qps=1000",
  "--kube-api-burst=1000",
  "--use-service-account-credentials=true",
];
/** kube-apiserver's own defaults; tests have more. */
const APISERVER_FLAGS = ["--max-requests-inflight=400", "--max-mutating-requests-inflight=200"];

export async function measureGates(): Promise<Figure[]> {
  return [...(await measureOnCluster()), ...(await measureOpener())];
}

/** kube-apiserver, kube-controller-manager and whoever measures share the machine's cores with the platform. */
async function measureOnCluster(): Promise<Figure[]> {
  const { admin, platform, start, stop } = await startBenchCluster({
    controllerManagerFlags: CONTROLLER_MANAGER_FLAGS,
    apiserverFlags: APISERVER_FLAGS,
  });
  try {
    // Processes of their own, as the chart installs them.
    for (const operation of ["deployment-runner", "instance-index"] as const) await start([operation]);
    await admin.create(Namespace, { metadata: { name: NAMESPACE } });
    await measureDelays(admin, 1, () => makeLRP(admin, "first", 1));
    const single = await measureDelays(admin, ONE_BY_ONE, async (opened) => {
      for (let made = 0; made < ONE_BY_ONE; made++) {
        await makeLRP(admin, `single-${made}`, 1);
        await until(() => Promise.resolve(opened() > made), "the gate does not open", 5);
      }
    });
    const crowd = await measureDelays(admin, CROWD.lrps * CROWD.instances, async () => {
      const names = Array.from({ length: CROWD.lrps }, (_, at) => `crowd-${at}`);
      await Promise.all(names.map((name) => makeLRP(admin, name, CROWD.instances)));
    });
    const oneLRP = await measureDelays(admin, CROWD.lrps * CROWD.instances, () =>
      makeLRP(admin, LARGE, CROWD.lrps * CROWD.instances),
    );
    const floor = await measureFloor(admin, platform);
    return [
      figure("99 of 100 gates open after a pod's creation", percentile(single, 0.99), "ms", { max: 200 }),
      figure("the same, of a thousand pods at once, ten of each LRP", percentile(crowd, 0.99), "ms", { max: 200 }),
      figure("the same, of a thousand pods at once, all of one LRP", percentile(oneLRP, 0.99), "ms", { max: 200 }),
      figure("the same, patched by a loop that does nothing else (the floor)", percentile(floor, 0.99), "ms"),
    ];
  } finally {
    await stop();
  }
}

/** As many pods as one LRP had, as large, of a Deployment that is none of ours: a loop that does nothing else sends the opener's patch for each as it appears. */
async function measureFloor(admin: KubeClient, platform: KubeClient): Promise<number[]> {
  const { spec } = await admin.get(Deployment, { namespace: NAMESPACE, name: LARGE });
  const labels = { floor: LARGE };
  const metadata = { ...spec?.template.metadata, labels };
  const limit = pLimit(CONNECTIONS);
  let index = 0;
  const open = (pod: PodObject): void => void limit(() => platform.patch(Pod, toKey(pod), planGatePatch(pod, index++)));
  const draft = {
    metadata: { name: "floor", namespace: NAMESPACE },
    spec: { ...spec, selector: { matchLabels: labels }, template: { ...spec?.template, metadata } },
  };
  return measureDelays(admin, CROWD.lrps * CROWD.instances, () => admin.create(Deployment, draft), open);
}

function toKey({ metadata }: PodObject): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? "", name: metadata.name };
}

/** Milliseconds from a pod's creation to its open gate, as another client sees both, sorted; of this many pods that `make` leads to. */
async function measureDelays(
  admin: KubeClient,
  count: number,
  make: (opened: () => number) => Promise<unknown>,
  onAdded: (pod: PodObject) => void = () => undefined,
): Promise<number[]> {
  const { metadata } = await admin.list(Pod, { namespace: NAMESPACE, metadata: true });
  const created = new Map<string, number>();
  const delays: number[] = [];
  const abort = new AbortController();
  const observe = (type: string, pod: ObjectOf<typeof Pod>): void => {
    const { uid = "" } = pod.metadata;
    const since = created.get(uid);
    if (type === "ADDED") {
      created.set(uid, performance.now());
      onAdded(pod as PodObject);
    }
    if (since === undefined || pod.spec?.schedulingGates?.length) return;
    created.delete(uid);
    delays.push(performance.now() - since);
  };
  const watching = (async () => {
    let { resourceVersion } = metadata;
    // kube-apiserver closes the watch of a client that it finds slow, so the next one goes on from where it ended.
    while (!abort.signal.aborted) {
      const options = { namespace: NAMESPACE, resourceVersion, signal: abort.signal };
      for await (const event of admin.watch<ObjectOf<typeof Pod>>(Pod, options)) {
        if (event.type !== "ADDED" && event.type !== "MODIFIED") continue;
        observe(event.type, event.object);
        resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
      }
    }
  })().catch(() => undefined);
  await make(() => delays.length);
  await until(() => Promise.resolve(delays.length >= count), `${count} gates do not open`);
  abort.abort();
  await watching;
  return delays.sort((a, b) => a - b);
}

async function makeLRP(admin: KubeClient, name: string, instances: number): Promise<void> {
  const guid = "00000000-0000-4000-8000-000000000000";
  const spec = lrpSpec({ instances });
  const labels = { [LABELS.guid]: guid, [LABELS.app]: guid, [LABELS.processType]: "web" };
  await admin.create(LRP, { metadata: { name, namespace: NAMESPACE, labels }, spec });
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? NaN;
}
