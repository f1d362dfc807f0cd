// `npm run bench -- gates`: how long new pods wait for their instance index, one by one and a thousand at once. Needs a real control plane.
import pLimit from "p-limit";
import { planGatePatch } from "../../../backends/runners/deployment/instance-index/open-gate.ts";
import type { PodObject } from "../../../backends/pods/slim-pod.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { lrpSpec } from "../../../crds/testing/objects.ts";
import { Deployment, Namespace, Pod } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { listFlowControl } from "../../../platform/operations/flow-control.ts";
import { type Figure, figure, told } from "../figure.ts";
import { until } from "../until.ts";
import { startBenchCluster, type BenchCluster } from "./bench-cluster.ts";
import { measureGateDelays } from "./gate-delays.ts";
import { measureOpener } from "./opener.ts";

const NAMESPACE = "gates";
const ONE_BY_ONE = 100;
const PODS = 1000;
/** LRPs, or Deployments of the floor, that share the pods: ten of each, and all of one. */
const MANY = 100;
const TEMPLATE = "template";
/** Requests that the floor sends at the same time, as the opener does. */
const FLOOR_CONCURRENCY = 30;
/** Credentials of its own for each controller, as kubeadm sets it up: as one administrator, its requests would pass by priority and fairness. */
const ACCOUNTS = "--use-service-account-credentials=true";
/** kube-controller-manager's own limit makes a thousand pods in 50 s. Without it they all come in some seconds, five hundred requests at a time. */
const UNLIMITED = ["--kube-api-qps=1000", "--kube-api-burst=1000"];
const USUAL = ["--kube-api-qps=20", "--kube-api-burst=30"];
/** kube-apiserver's own defaults; tests have more. */
const APISERVER_FLAGS = ["--max-requests-inflight=400", "--max-mutating-requests-inflight=200"];
const FLOW_CONTROL_PATHS: Record<string, string> = {
  PriorityLevelConfiguration: "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
  FlowSchema: "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
};

export async function measureGates(): Promise<Figure[]> {
  return [
    ...told(await onCluster(USUAL, measureUsual)),
    ...told(await onCluster(UNLIMITED, measureFlood)),
    ...(await measureOpener()),
  ];
}

/** kube-apiserver, kube-controller-manager and whoever measures share the machine's cores with the platform. */
async function onCluster(
  limits: readonly string[],
  measure: (cluster: BenchCluster) => Promise<Figure[]>,
): Promise<Figure[]> {
  const cluster = await startBenchCluster({
    controllerManagerFlags: [ACCOUNTS, ...limits],
    apiserverFlags: APISERVER_FLAGS,
  });
  const { admin, start, stop } = cluster;
  try {
    // As the chart does.
    for (const object of listFlowControl()) await admin.raw("POST", FLOW_CONTROL_PATHS[object.kind] ?? "", object);
    // Processes of their own, as the chart installs them.
    for (const operation of ["deployment-runner", "instance-index"] as const) await start([operation]);
    await admin.create(Namespace, { metadata: { name: NAMESPACE, labels: { [LABELS.namespaceKind]: "space" } } });
    await measureGateDelays(admin, { namespace: NAMESPACE, count: 1, make: () => makeLRP(admin, "first", 1) });
    return await measure(cluster);
  } finally {
    await stop();
  }
}

/** As clusters run kube-controller-manager. */
async function measureUsual({ admin }: BenchCluster): Promise<Figure[]> {
  const single = await measureGateDelays(admin, {
    namespace: NAMESPACE,
    count: ONE_BY_ONE,
    make: async (opened) => {
      for (let made = 0; made < ONE_BY_ONE; made++) {
        await makeLRP(admin, `single-${made}`, 1);
        await until(() => Promise.resolve(opened() > made), "the gate does not open", 5);
      }
    },
  });
  const crowd = await measureLRPs(admin, "usual", 1);
  return [
    figure("99 of 100 gates open after a pod's creation", percentile(single, 0.99), "ms", { max: 200 }),
    figure(
      "the same, of a thousand pods of one LRP, as fast as kube-controller-manager makes them unless told otherwise",
      percentile(crowd, 0.99),
      "ms",
      { max: 200 },
    ),
  ];
}

/** More than kube-apiserver can do on these cores, so the platform is held against the floor, in turns. */
async function measureFlood({ admin, connect }: BenchCluster): Promise<Figure[]> {
  await makeLRP(admin, TEMPLATE, 0);
  await until(
    async () => (await admin.find(Deployment, { namespace: NAMESPACE, name: TEMPLATE })) !== undefined,
    "the Deployment of an LRP is not made",
  );
  const opener = connect("instance-index");
  const figures: Figure[] = [];
  for (const [shape, owners] of [
    ["ten of each LRP", MANY],
    ["all of one LRP", 1],
  ] as const) {
    const ours = [await measureLRPs(admin, `first-of-${owners}`, owners)];
    const floor = [await measureFloor(admin, opener, owners)];
    ours.push(await measureLRPs(admin, `second-of-${owners}`, owners));
    const [opened, patched] = [percentile(sorted(ours), 0.99), percentile(sorted(floor), 0.99)];
    figures.push(
      figure(`gates, a thousand pods in some seconds, ${shape}: 99 of 100 open`, opened, "ms"),
      figure("the same, patched by a loop that does nothing else (the floor)", patched, "ms"),
      figure(`gates, a thousand pods in some seconds, ${shape}, against the floor`, opened / patched, "", { max: 1.5 }),
    );
  }
  return figures;
}

function measureLRPs(admin: KubeClient, prefix: string, lrps: number): Promise<number[]> {
  const names = Array.from({ length: lrps }, (_, at) => `${prefix}-${at}`);
  return measureGateDelays(admin, {
    namespace: NAMESPACE,
    count: PODS,
    make: () => Promise.all(names.map((name) => makeLRP(admin, name, PODS / lrps))),
  });
}

/** As many pods, as large, of Deployments that are none of ours: a loop that does nothing else sends the opener's patch for each as it appears. */
async function measureFloor(admin: KubeClient, opener: KubeClient, deployments: number): Promise<number[]> {
  const { spec } = await admin.get(Deployment, { namespace: NAMESPACE, name: TEMPLATE });
  const limit = pLimit(FLOOR_CONCURRENCY);
  let index = 0;
  const open = (pod: PodObject): void => void limit(() => opener.patch(Pod, toKey(pod), planGatePatch(pod, index++)));
  const make = (name: string): Promise<unknown> => {
    const labels = { floor: name };
    const metadata = { ...spec?.template.metadata, labels };
    return admin.create(Deployment, {
      metadata: { name, namespace: NAMESPACE },
      spec: {
        ...spec,
        replicas: PODS / deployments,
        selector: { matchLabels: labels },
        template: { ...spec?.template, metadata },
      },
    });
  };
  const names = Array.from({ length: deployments }, (_, at) => `floor-of-${deployments}-${at}`);
  return measureGateDelays(admin, {
    namespace: NAMESPACE,
    count: PODS,
    make: () => Promise.all(names.map(make)),
    onAdded: open,
  });
}

function toKey({ metadata }: PodObject): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? "", name: metadata.name };
}

async function makeLRP(admin: KubeClient, name: string, instances: number): Promise<void> {
  const guid = "00000000-0000-4000-8000-000000000000";
  const spec = lrpSpec({ instances });
  const labels = { [LABELS.guid]: guid, [LABELS.app]: guid, [LABELS.processType]: "web" };
  await admin.create(LRP, { metadata: { name, namespace: NAMESPACE, labels }, spec });
}

function sorted(runs: readonly number[][]): number[] {
  return runs.flat().toSorted((a, b) => a - b);
}

function percentile(values: readonly number[], share: number): number {
  return values[Math.ceil(values.length * share) - 1] ?? NaN;
}
