// Gatekeeper v3 beside ours on the same control plane: one replica with all operations and its defaults, 200 constraints of one CEL template over the same apps.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { provideBinary } from "../../cluster/binaries.ts";
import { freePort } from "../../cluster/free-port.ts";
import { downloadModule } from "../../cluster/go-module.ts";
import { startGuarded, type GuardedProcess } from "../../cluster/guarded-process.ts";
import type { BenchCluster } from "../cluster/bench-cluster.ts";
import { type Figure, figure, median } from "../figure.ts";
import { until } from "../until.ts";
import {
  apiServerMetrics,
  isDenied,
  measureApiServerWrites,
  timeUntil,
  toMetrics,
  type Metrics,
} from "./api-server.ts";
import { CONSTRAINTS, MATCHING, nameOf, OWNED } from "./constraints.ts";
import { logProgress, type Apps, type OurFigures } from "./cupola.ts";

/** The version of test/cluster/modules/gatekeeper. */
const MODULE = "github.com/open-policy-agent/gatekeeper/v3@v3.23.1";
const GROUP = "constraints.gatekeeper.sh";
const NAMESPACE = "gatekeeper-system";
const KIND = "BenchRequiredLabels";
const CHANGES = 5;
const ROUNDS = 8;
const IDLE_MS = 30_000;
const AUDIT_SECONDS = 30;

const run = promisify(execFile);

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

interface Gatekeeper {
  apply(objects: readonly object[]): Promise<void>;
  metrics(): Promise<Metrics>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

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
    await until(async () => (await countByPod(plane)) === CONSTRAINTS, "not all are known", 250);
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
      await gatekeeper.restart();
      await until(async () => (await countByPod(plane)) === CONSTRAINTS, "not all are known", 250);
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
      figure("Gatekeeper: writes of a restart of its replica", restart, "writes"),
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

async function startGatekeeper({ controlPlane }: BenchCluster): Promise<Gatekeeper> {
  const program = await provideBinary("gatekeeper");
  const folder = mkdtempSync(join(tmpdir(), "cupola-gatekeeper-"));
  const authority = await makeAuthority("gatekeeper");
  const pair = await issueCertificate(authority, { commonName: "gatekeeper", ipAddresses: ["127.0.0.1"] });
  for (const [name, text] of [
    ["tls.crt", pair.cert],
    ["tls.key", pair.key],
    ["ca.crt", authority.cert],
  ] as const)
    writeFileSync(join(folder, name), text);
  const [port, health, metrics] = [await freePort(), await freePort(), await freePort()];
  const kubectl = async (...args: string[]): Promise<string> =>
    (await run(controlPlane.kubectl, ["--kubeconfig", controlPlane.kubeconfig, ...args], { timeout: 120_000 })).stdout;
  const apply = async (objects: readonly object[]): Promise<void> => {
    const file = join(folder, "apply.yaml");
    writeFileSync(file, objects.map((one) => JSON.stringify(one)).join("\n---\n"));
    await kubectl("apply", "--server-side", "-f", file);
  };
  await apply(readManifests().filter(({ kind }) => kind === "CustomResourceDefinition" || kind === "Namespace"));
  const flags = [
    `--kubeconfig=${controlPlane.kubeconfig}`,
    `--port=${port}`,
    `--health-addr=127.0.0.1:${health}`,
    `--prometheus-port=${metrics}`,
    "--disable-cert-rotation",
    `--cert-dir=${folder}`,
    "--debug-use-fake-pod",
    `--audit-interval=${AUDIT_SECONDS}`,
    "--shutdown-delay=0",
    "--log-level=ERROR",
  ];
  let running: GuardedProcess;
  const start = async (): Promise<void> => {
    running = startGuarded(["env", "POD_NAME=no-pod", `POD_NAMESPACE=${NAMESPACE}`, program, ...flags], {
      name: "gatekeeper",
      logFile: join(folder, "gatekeeper.log"),
    });
    await until(async () => {
      if (!running.running()) throw new Error(`Gatekeeper ended:\n${running.log()}`);
      return (await fetch(`http://127.0.0.1:${health}/healthz`).catch(() => undefined))?.ok === true;
    }, "Gatekeeper is not healthy");
  };
  await start();
  await apply([toWebhook(port, authority.cert)]);
  return {
    apply,
    async metrics() {
      const answer = await fetch(`http://127.0.0.1:${metrics}/metrics`);
      return toMetrics(await answer.text());
    },
    async restart() {
      await running.kill();
      await start();
    },
    async stop() {
      await kubectl("delete", "validatingwebhookconfiguration", "gatekeeper", "--ignore-not-found");
      await running.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The kinds and the namespace of its own manifests. */
function readManifests(): KubeObject[] {
  const text = readFileSync(join(downloadModule(MODULE), "deploy", "gatekeeper.yaml"), "utf8");
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
}

/** As its manifests have it, for apps alone, by address. */
function toWebhook(port: number, authority: string): object {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "gatekeeper" },
    webhooks: [
      {
        name: "validation.gatekeeper.sh",
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        failurePolicy: "Ignore",
        timeoutSeconds: 3,
        clientConfig: {
          url: `https://127.0.0.1:${port}/v1/admit`,
          caBundle: Buffer.from(authority).toString("base64"),
        },
        rules: [
          { apiGroups: ["cupola.dev"], apiVersions: ["*"], operations: ["CREATE", "UPDATE"], resources: ["apps"] },
        ],
      },
    ],
  };
}

/** How many constraints its status shows as known by its replica. */
async function countByPod({ admin }: BenchCluster): Promise<number> {
  const { items } = await admin.list(Constraint);
  return items.filter((one) => {
    const { byPod } = (one["status"] ?? {}) as { byPod?: { observedGeneration?: number }[] | null };
    return (byPod ?? []).some(({ observedGeneration }) => observedGeneration === one.metadata.generation);
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
