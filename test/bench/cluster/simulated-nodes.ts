// Nodes whose kubelets are simulated by kwok, and the real scheduler: pods are bound, run and become ready, and no container starts.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../../../scripts/run-command.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { provideBinary } from "../../cluster/binaries.ts";
import type { ControlPlane } from "../../cluster/control-plane.ts";
import { startGuarded } from "../../cluster/guarded-process.ts";
import { until } from "../until.ts";

/** Pods of the size that apps have fit on a node by the hundred. */
const CAPACITY = { cpu: "64", memory: "512Gi", "ephemeral-storage": "4Ti", pods: "250" };
const NODES = "/api/v1/nodes";
const MODULE = join(import.meta.dirname, "..", "..", "cluster", "modules", "kwok");
/** How kwok plays nodes and pods, by files in the sources of its module: they are ready at once, and deleted at once. */
const STAGES = [
  "node/fast/node-initialize.yaml",
  "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
  "pod/fast/pod-ready.yaml",
  "pod/fast/pod-delete.yaml",
];

/** Resolves when all nodes are ready, to a function that ends both programs. */
export async function startSimulatedNodes(
  { kubeconfig }: ControlPlane,
  admin: KubeClient,
  count: number,
): Promise<() => Promise<void>> {
  const [scheduler, kwok] = [await provideBinary("kube-scheduler"), await provideBinary("kwok")];
  const dir = mkdtempSync(join(tmpdir(), "cupola-kwok-"));
  const limits = ["--kube-api-qps=500", "--kube-api-burst=1000"];
  const commands: Record<string, [string, ...string[]]> = {
    "kube-scheduler": [scheduler, `--kubeconfig=${kubeconfig}`, "--leader-elect=false", "--secure-port=0", ...limits],
    kwok: [
      kwok,
      `--kubeconfig=${kubeconfig}`,
      ...["--manage-all-nodes=true", "--node-lease-duration-seconds=40", "--cidr=10.128.0.0/12"],
      ...(await listStages()).map((file) => `--config=${file}`),
    ],
  };
  const programs = Object.entries(commands).map(([name, command]) =>
    startGuarded(command, { name, logFile: join(dir, `${name}.log`) }),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(programs.map((program) => program.kill()));
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    for (let at = 0; at < count; at++) await admin.raw("POST", NODES, toNode(`node-${at}`));
    await until(async () => {
      const dead = programs.find((program) => !program.running());
      if (dead) throw new Error(`${dead.name} ended: ${dead.log()}`);
      return (await countReady(admin)) === count;
    }, `${count} simulated nodes are not ready`);
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

async function listStages(): Promise<string[]> {
  const command = ["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"] as const;
  const { code, output } = await runCommand([...command], { cwd: MODULE, deadlineMs: 120_000 });
  if (code !== 0) throw new Error(`the sources of kwok are not there: ${output}`);
  return STAGES.map((stage) => join(output.trim(), "kustomize", "stage", stage));
}

function toNode(name: string): object {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/os": "linux", "kubernetes.io/hostname": name } },
    status: { capacity: CAPACITY, allocatable: CAPACITY },
  };
}

interface NodeList {
  items: { status?: { conditions?: { type: string; status: string }[] } }[];
}

async function countReady(admin: KubeClient): Promise<number> {
  const { items } = (await admin.raw("GET", NODES)) as NodeList;
  const isReady = ({ status }: NodeList["items"][number]): boolean =>
    status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
  return items.filter(isReady).length;
}
