// The platform on a real control plane, as three replicas behind a balancer; apps run as processes of this machine.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { request } from "undici";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { kubeconfigText } from "../../../kube/client/kubeconfig-text.ts";
import { DEVELOPER, seedObjects, seedTaskRunner } from "../../../local/seed.ts";
import { installManifests } from "../../../platform/install.ts";
import type { Operation } from "../../../platform/operations/operations.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { freePort } from "../../cluster/free-port.ts";
import { seedPlatform } from "./seed-platform.ts";
import { startLoadBalancer, type BalancerBackend } from "./load-balancer.ts";
import { eventually } from "../../eventually.ts";
import { listProcessesUnder } from "../kill/leftovers.ts";
import type { TestPlatformBase } from "./test-platform.ts";

const ENTRY = join(import.meta.dirname, "..", "..", "..", "platform", "cupola.ts");
const GUARD = join(import.meta.dirname, "die-with-parent.ts");
const OPERATIONS: readonly Operation[] = [
  "api",
  "controllers",
  "policies",
  "host-builder",
  "process-runner",
  "local-router",
];
const REPLICAS = 3;

export interface ReplicatedPlatformOptions {
  /** Operations of each replica, beside the usual ones. */
  operations?: readonly Operation[];
  /** More arguments of each replica. */
  replicaArgs?: readonly string[];
  /** More flags of kube-apiserver. */
  apiserverFlags?: string[];
}

/** How long a replica that was killed counts as living; what it led waits so long for another. */
const LEASE_SECONDS = 5;

interface Replica extends BalancerBackend {
  child: ChildProcess | undefined;
}

/** Starts a control plane and the platform on it. `kubectl` is one of the control plane's version. @throws Error with the log's end when a replica does not become ready */
export async function startReplicatedPlatform({
  operations = [],
  replicaArgs = [],
  apiserverFlags = [],
}: ReplicatedPlatformOptions = {}): Promise<{
  base: TestPlatformBase;
  kubectl: string;
  plane: ControlPlane;
  /** Ports of the replicas, behind the balancer. */
  ports: readonly number[];
}> {
  const plane = await startControlPlane({
    apiserverFlags,
    users: [
      { token: "platform-token", user: "cupola", groups: [PLATFORM_GROUP] },
      { token: "developer-token", user: DEVELOPER },
    ],
  });
  const home = mkdtempSync(join(tmpdir(), "cupola-e2e-"));
  const admin = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
  const access = { server: plane.url, ca: plane.ca };
  const kubeconfig = join(home, "kubeconfig");
  writeFileSync(
    kubeconfig,
    kubeconfigText({
      ...access,
      users: [
        { name: "admin", token: plane.adminToken },
        { name: DEVELOPER, token: "developer-token" },
      ],
    }),
  );
  writeFileSync(
    join(home, "platform-kubeconfig"),
    kubeconfigText({ ...access, users: [{ name: "cupola", token: "platform-token" }] }),
  );
  await installManifests(admin);
  await plane.restartControllers();
  const replicas: Replica[] = await Promise.all(
    Array.from({ length: REPLICAS }, async () => ({ port: await freePort(), up: false, child: undefined })),
  );
  const balancer = await startLoadBalancer(replicas);
  const launch = { home, publicPort: balancer.port, operations: [...OPERATIONS, ...operations].join(), replicaArgs };
  const start = (): Promise<void> => startMissing(replicas, launch);
  const base: TestPlatformBase = {
    on: "cluster",
    home,
    url: `http://localhost:${balancer.port}`,
    port: balancer.port,
    rawPort: replicas[0]?.port ?? 0,
    hostAddress: "127.0.0.1",
    tcpHost: "127.0.0.1",
    kubeconfig,
    pids: () => replicas.flatMap(({ child }) => child?.pid ?? []),
    kill: (which) => killOne(replicas, which),
    start,
    async stop() {
      await balancer.close();
      const died = replicas.filter(({ child }) => child && hasExited(child)).length;
      const log = died > 0 ? readFileSync(join(home, "cupola.log"), "utf8") : "";
      await Promise.all(replicas.map((replica) => terminateReplica(replica, "SIGTERM")));
      // Instances outlive a platform that stops on a cluster; not this one.
      for (const { pid } of listProcessesUnder(home)) process.kill(pid, "SIGKILL");
      await admin.close();
      await plane.stop();
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
      if (died > 0) throw new Error(`${died} replicas ended by themselves:\n${log.slice(-4000)}`);
    },
  };
  try {
    await start();
    await seedPlatform(admin, [...seedObjects(), seedTaskRunner()]);
  } catch (error) {
    await base.stop();
    throw error;
  }
  return { base, kubectl: plane.kubectl, plane, ports: replicas.map(({ port }) => port) };
}

interface Launch {
  home: string;
  publicPort: number;
  operations: string;
  replicaArgs: readonly string[];
}

async function startMissing(replicas: Replica[], launch: Launch): Promise<void> {
  await Promise.all(
    replicas.filter(({ child }) => !child || hasExited(child)).map((replica) => startReplica(replica, launch)),
  );
}

async function startReplica(replica: Replica, { home, publicPort, operations, replicaArgs }: Launch): Promise<void> {
  const log = openSync(join(home, "cupola.log"), "a");
  const args = [
    `--operation=${operations}`,
    "--lease-seconds",
    String(LEASE_SECONDS),
    "--kubeconfig",
    join(home, "platform-kubeconfig"),
    "--port",
    String(replica.port),
    "--data",
    join(home, "data"),
    "--public-url",
    `http://localhost:${publicPort}`,
    ...replicaArgs,
  ];
  const child = spawn(process.execPath, ["--import", GUARD, ENTRY, ...args], { stdio: ["pipe", "ignore", log] });
  closeSync(log);
  replica.child = child;
  await eventually(async () => {
    if (hasExited(child)) return;
    const { statusCode, body } = await request(`http://127.0.0.1:${replica.port}/readyz`, {
      reset: true,
      headersTimeout: 5000,
    });
    await body.dump();
    if (statusCode !== 200) throw new Error(`a replica answers ${statusCode}`);
  }, 180_000);
  if (hasExited(child))
    throw new Error(`a replica ended by itself:\n${readFileSync(join(home, "cupola.log"), "utf8").slice(-4000)}`);
  replica.up = true;
}

async function killOne(replicas: readonly Replica[], which: number): Promise<void> {
  const alive = replicas.filter(({ child }) => child);
  const victim = alive[Math.floor(which * alive.length)];
  if (victim) await terminateReplica(victim, "SIGKILL");
}

async function terminateReplica(replica: Replica, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const { child } = replica;
  replica.up = false;
  replica.child = undefined;
  if (!child || hasExited(child)) return;
  const over = once(child, "exit");
  child.kill(signal);
  const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
  await over;
  clearTimeout(late);
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
