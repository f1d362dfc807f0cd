// Gatekeeper v3 as a process: its kinds, its webhook by address, and the Pod that it takes for its own.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { Pod, ServiceAccount } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";
import { provideBinary } from "../../cluster/binaries.ts";
import { freePort } from "../../cluster/free-port.ts";
import { downloadModule } from "../../cluster/go-module.ts";
import { startGuarded, type GuardedProcess } from "../../cluster/guarded-process.ts";
import type { BenchCluster } from "../cluster/bench-cluster.ts";
import { until } from "../until.ts";
import { toMetrics, type Metrics } from "./api-server.ts";

/** The version of test/cluster/modules/gatekeeper. */
const MODULE = "github.com/open-policy-agent/gatekeeper/v3@v3.23.1";
const NAMESPACE = "gatekeeper-system";
export const AUDIT_SECONDS = 30;

const run = promisify(execFile);

export interface Gatekeeper {
  apply(objects: readonly object[]): Promise<void>;
  metrics(): Promise<Metrics>;
  /** Its own Pod's, by which its status names it. */
  podName(): string;
  /** Ends it, with its Pod, and starts another. */
  replace(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts it with all its operations and its defaults. */
export async function startGatekeeper({ controlPlane, admin }: BenchCluster): Promise<Gatekeeper> {
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
    `--audit-interval=${AUDIT_SECONDS}`,
    "--shutdown-delay=0",
    "--log-level=ERROR",
  ];
  let running: GuardedProcess;
  let pods = 0;
  const start = async (): Promise<void> => {
    await makePod(admin, podName(++pods));
    running = startGuarded(["env", `POD_NAME=${podName(pods)}`, `POD_NAMESPACE=${NAMESPACE}`, program, ...flags], {
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
    podName: () => podName(pods),
    async replace() {
      await running.kill();
      await admin.delete(Pod, { namespace: NAMESPACE, name: podName(pods) });
      await start();
    },
    async stop() {
      await kubectl("delete", "validatingwebhookconfiguration", "gatekeeper", "--ignore-not-found");
      await running.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const podName = (number: number): string => `gatekeeper-${number}`;

/** Its namespace wants restricted Pods. */
const RESTRICTED = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};

/**
 * Its status objects belong to its Pod, and the garbage collector deletes them without one. Nothing schedules this Pod, so that nothing
 * looks for its node either.
 */
async function makePod(admin: KubeClient, name: string): Promise<void> {
  await until(
    async () => (await admin.find(ServiceAccount, { namespace: NAMESPACE, name: "default" })) !== undefined,
    "the namespace has no ServiceAccount",
  );
  await admin.create(Pod, {
    metadata: { namespace: NAMESPACE, name },
    spec: {
      containers: [{ name: "gatekeeper", image: "gatekeeper", securityContext: RESTRICTED }],
      automountServiceAccountToken: false,
    },
  });
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
