// Gatekeeper v3 beside ours on the same control plane: one replica with all operations and its defaults, 200 constraints of one CEL template over the same apps.
import { setTimeout as delay } from "node:timers/promises";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { BenchCluster } from "../cluster/bench-cluster.ts";
import { type Figure, figure, median } from "../figure.ts";
import { until } from "../until.ts";
import { apiServerMetrics, isDenied, measureApiServerWrites, timeUntil } from "./api-server.ts";
import { CONSTRAINTS, MATCHING, nameOf, OWNED } from "./constraints.ts";
import type { OurFigures } from "./cupola.ts";
import { AUDIT_SECONDS, startGatekeeper, type Gatekeeper } from "./gatekeeper-process.ts";
import { type Apps, logProgress } from "./policy-apps.ts";

const GROUP = "constraints.gatekeeper.sh";
const KIND = "BenchRequiredLabels";
const CHANGES = 5;
const ROUNDS = 8;
const IDLE_MS = 30_000;

const Constraint: ResourceRef = {
  group: GROUP,
  version: "v1beta1",
  kind: KIND,
  plural: KIND.toLowerCase(),
  namespaced: false,
};

const TEMPLATE = {
  apiVersion: "templates.gatekeeper.sh/v1",
  kind: "ConstraintTemplate",
  metadata: { name: KIND.toLowerCase() },
  spec: {
    crd: {
      spec: {
        names: { kind: KIND },
        validation: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              labels: { type: "array", items: { type: "object", properties: { key: { type: "string" } } } },
            },
          },
        },
      },
    },
    targets: [
      {
        target: "admission.k8s.gatekeeper.sh",
        code: [
          {
            engine: "K8sNativeValidation",
            source: {
              validations: [
                {
                  expression:
                    "variables.params.labels.all(l, has(object.metadata.labels) && l.key in object.metadata.labels)",
                  messageExpression: "'needs the labels ' + variables.params.labels.map(l, l.key).join(', ')",
                },
              ],
            },
          },
        ],
      },
    ],
  },
};

const toConstraint = (at: number, namespace: string, key = "owner"): KubeObject => ({
  apiVersion: `${GROUP}/v1beta1`,
  kind: KIND,
  metadata: { name: nameOf(at) },
  spec: {
    match: {
      kinds: [{ apiGroups: ["cupola.dev"], kinds: ["App"] }],
      namespaces: [at < MATCHING ? namespace : `none-${at}`],
    },
    parameters: { labels: [{ key }] },
  },
});

/** Measures it, with ours beside each figure that both have. */
export async function measureGatekeeper(plane: BenchCluster, apps: Apps, ours: OurFigures): Promise<Figure[]> {
  logProgress("Gatekeeper");
  const { admin } = plane;
  const [namespace = ""] = apps.namespaces;
  const gatekeeper = await startGatekeeper(plane);
  try {
    await gatekeeper.apply([TEMPLATE]);
    await until(async () => (await admin.list(Constraint).catch(() => undefined)) !== undefined, "no kind");
    const memory = {
      own: (await gatekeeper.metrics()).residentBytes,
      apiServer: (await apiServerMetrics(plane)).residentBytes,
    };
    const start = performance.now();
    await gatekeeper.apply(Array.from({ length: CONSTRAINTS }, (_, at) => toConstraint(at, namespace)));
    await until(async () => (await countByPod(plane, gatekeeper)) === CONSTRAINTS, "not all are known", 250);
    const knownS = (performance.now() - start) / 1000;
    await untilQuiet(plane);
    const added = {
      own: (await gatekeeper.metrics()).residentBytes - memory.own,
      apiServer: (await apiServerMetrics(plane)).residentBytes - memory.apiServer,
    };
    const { cpuSeconds: cpu } = await gatekeeper.metrics();
    const write = await measureApiServerWrites(plane, { namespace, names: apps.written, rounds: ROUNDS });
    const ownCpuMs = (((await gatekeeper.metrics()).cpuSeconds - cpu) * 1000) / (apps.written.length * (ROUNDS + 1));
    const changes = await measureChanges(plane, gatekeeper, namespace);
    const audit = await measureAudit(plane, gatekeeper);
    const restart = await countVersions(plane, async () => {
      await gatekeeper.replace();
      await until(async () => (await countByPod(plane, gatekeeper)) === CONSTRAINTS, "not all are known", 250);
      await untilQuiet(plane);
    });
    const idle = await countVersions(plane, () => delay(IDLE_MS));
    return [
      figure("Gatekeeper: the same write, p50, against no constraint", write.p50 / ours.bare.p50, "ratio"),
      figure("Gatekeeper: p99", write.p99 / ours.bare.p99, "ratio"),
      figure(
        "Gatekeeper: processor time added, its own included",
        write.cpuMs - ours.bare.cpuMs + ownCpuMs,
        "ms a write",
      ),
      figure("ours against Gatekeeper's: time of a write, p50", ours.write.p50 / write.p50, "ratio", { max: 1 }),
      figure("the same: p99", ours.write.p99 / write.p99, "ratio", { max: 1 }),
      figure(`Gatekeeper: ${CONSTRAINTS} constraints applied until its status names all`, knownS, "s"),
      figure("Gatekeeper: apply of a change to the first refusal", changes.deniedMs / 1000, "s"),
      figure(
        "ours against Gatekeeper's: apply of a change to the first refusal",
        ours.inForceMs / changes.deniedMs,
        "ratio",
        { max: 1 },
      ),
      figure("Gatekeeper: writes of a change, one replica", changes.writes, "writes"),
      figure("Gatekeeper: writes when its replica is replaced", restart, "writes"),
      figure(`Gatekeeper: writes in ${IDLE_MS / 1000} s, idle, an audit each ${AUDIT_SECONDS} s`, idle, "writes"),
      figure("Gatekeeper: processor time of an audit, kube-apiserver included", audit.cpuS, "s"),
      figure("Gatekeeper: resident memory", (await gatekeeper.metrics()).residentBytes / 2 ** 20, "MiB"),
      figure("Gatekeeper: resident memory for each constraint", added.own / CONSTRAINTS / 1024, "KiB"),
      figure("Gatekeeper: kube-apiserver's memory for each constraint", added.apiServer / CONSTRAINTS / 1024, "KiB"),
    ];
  } finally {
    await gatekeeper.stop();
  }
}

/** How many constraints its status shows as known by its replica. */
async function countByPod({ admin }: BenchCluster, gatekeeper: Gatekeeper): Promise<number> {
  const { items } = await admin.list(Constraint);
  return items.filter((one) => {
    const { byPod } = (one["status"] ?? {}) as { byPod?: { id?: string; observedGeneration?: number }[] | null };
    return (byPod ?? []).some(
      ({ id, observedGeneration }) => id === gatekeeper.podName() && observedGeneration === one.metadata.generation,
    );
  }).length;
}

async function untilQuiet({ version }: BenchCluster): Promise<void> {
  let last = -1;
  await until(
    async () => {
      const now = await version();
      const isQuiet = now - last <= 3;
      last = now;
      return isQuiet;
    },
    "Gatekeeper does not come to rest",
    2_000,
  );
}

/** Versions that were made while `task` ran. */
async function countVersions({ version }: BenchCluster, task: () => Promise<unknown>): Promise<number> {
  const before = await version();
  await task();
  return (await version()) - before;
}

async function measureChanges(plane: BenchCluster, gatekeeper: Gatekeeper, namespace: string) {
  const { admin } = plane;
  const denied: number[] = [];
  for (let at = 0; at < CHANGES; at++) {
    await gatekeeper.apply([toConstraint(0, namespace, `k${at}`)]);
    denied.push(await timeUntil(() => isDenied(admin, namespace, OWNED)));
    await gatekeeper.apply([toConstraint(0, namespace)]);
    await timeUntil(async () => !(await isDenied(admin, namespace, OWNED)));
  }
  const writes = await countVersions(plane, async () => {
    await gatekeeper.apply([toConstraint(MATCHING, "", "x")]);
    await delay(5_000);
  });
  return { deniedMs: median(denied), writes: writes - 1 };
}

/** Processor time of an audit: that of two intervals, halved. */
async function measureAudit(plane: BenchCluster, gatekeeper: Gatekeeper): Promise<{ cpuS: number }> {
  const cpu = async (): Promise<number> =>
    (await gatekeeper.metrics()).cpuSeconds + (await apiServerMetrics(plane)).cpuSeconds;
  const before = await cpu();
  await delay(AUDIT_SECONDS * 1000 * 2);
  return { cpuS: ((await cpu()) - before) / 2 };
}
