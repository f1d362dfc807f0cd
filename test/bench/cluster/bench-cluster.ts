// A real control plane for measurements: our manifests in it, and replicas of the platform as processes of their own.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { OPERATIONS, type Operation } from "../../../platform/operations/operations.ts";
import { serviceAccountName } from "../../../platform/operations/permissions.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { type Child, startChild } from "../child-process.ts";
import type { PlatformProcessOptions, Requests } from "../platform-process.ts";
import { waitUntilStable } from "../until.ts";

/** The user whose rights are RoleBindings, one in each space. */
export const DEVELOPER = "developer";

export interface BenchCluster {
  controlPlane: ControlPlane;
  admin: KubeClient;
  platform: KubeClient;
  /** With the ServiceAccount of an operation, as its replicas. */
  connect(operation: Operation): KubeClient;
  developerToken: string;
  /** Starts another replica; resolves when it is ready. */
  start(operations: readonly Operation[]): Promise<Replica>;
  /** The newest version of any object: each write makes one. */
  version(): Promise<number>;
  stop(): Promise<void>;
}

export interface Replica {
  child: Child;
  url: string;
  requests(): Promise<Requests>;
  stop(): Promise<void>;
}

/** A runner class by name, so that apps lead to LRPs, and nobody behind it: what follows an LRP is the class's own cost. */
const NOBODY = systemObject(BackendClass, "nobody", { role: "runner", default: true });

export interface BenchClusterOptions {
  /** More flags for kube-controller-manager. */
  controllerManagerFlags?: string[];
  /** More flags for kube-apiserver. */
  apiserverFlags?: string[];
  /** Settings as Helm values would give them; a runner class that nobody serves unless given. */
  settings?: readonly KubeObject[];
}

/** Starts it. */
export async function startBenchCluster({
  controllerManagerFlags = [],
  apiserverFlags = [],
  settings = [NOBODY],
}: BenchClusterOptions = {}): Promise<BenchCluster> {
  const token = (): string => randomBytes(24).toString("base64url");
  const tokens = { platform: token(), developer: token() };
  const accounts = (Object.keys(OPERATIONS) as Operation[]).map((operation) => ({ operation, token: token() }));
  const tokenOf = (wanted?: Operation): string =>
    accounts.find(({ operation }) => operation === wanted)?.token ?? tokens.platform;
  const data = mkdtempSync(join(tmpdir(), "cupola-bench-"));
  const plane = await startControlPlane({
    controllerManagerFlags,
    // kube-apiserver would renew a Lease of its own every 10 s, which is no write of a platform.
    apiserverFlags: ["--feature-gates=APIServerIdentity=false", ...apiserverFlags],
    users: [
      { token: tokens.platform, user: "cupola", groups: [PLATFORM_GROUP] },
      { token: tokens.developer, user: DEVELOPER },
      ...accounts.map((account) => ({ token: account.token, ...serviceAccountUser(account.operation) })),
    ],
  });
  const access = { server: plane.url, ca: plane.ca };
  const admin = createClient({ ...access, auth: { kind: "token", token: plane.adminToken } });
  const platform = createClient({ ...access, auth: { kind: "token", token: tokens.platform } });
  const connect = (operation: Operation): KubeClient => platform.as({ kind: "token", token: tokenOf(operation) });
  const replicas = new Set<Replica>();
  const stop = async (): Promise<void> => {
    await Promise.all([...replicas].map((replica) => replica.stop()));
    await Promise.all([admin.close(), platform.close()]);
    await plane.stop();
    rmSync(data, { recursive: true, force: true });
  };
  try {
    await installManifests(admin);
    await applyObjects(admin, settings);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    controlPlane: plane,
    version: () => versionOf(admin),
    admin,
    platform,
    connect,
    developerToken: tokens.developer,
    stop,
    async start(operations) {
      const child = startChild(join(import.meta.dirname, "..", "platform-process.ts"), {
        access,
        token: tokenOf(operations[0]),
        operations,
        data: join(data, String(replicas.size)),
      } satisfies PlatformProcessOptions);
      const replica: Replica = {
        child,
        url: "",
        requests: () => child.request<Requests>("requests"),
        stop: () => (replicas.delete(replica), child.stop()),
      };
      replicas.add(replica);
      replica.url = await child.request<string>("url");
      return replica;
    },
  };
}

/** The ServiceAccount of an operation as kube-apiserver sees it, so that priority and fairness count its requests as on a cluster; with the rights of the whole platform. */
function serviceAccountUser(operation: Operation): { user: string; groups: string[] } {
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${SYSTEM_NAMESPACE}`, PLATFORM_GROUP];
  return { user: `system:serviceaccount:${SYSTEM_NAMESPACE}:${serviceAccountName(operation)}`, groups };
}

/** Waits until these replicas have no work and send no write for a second, or `quietMs`. */
export async function waitUntilIdle(replicas: readonly Replica[], quietMs?: number): Promise<void> {
  const version = async (): Promise<number> =>
    (await Promise.all(replicas.map((replica) => replica.requests()))).reduce((sum, { writes }) => sum + writes, 0);
  await waitUntilStable(() => Promise.all(replicas.map(({ child }) => child.request("idle"))), version, quietMs);
}

export interface Writes {
  /** All requests of the replicas, watches and reviews included, renewed Leases apart. */
  requests: number;
  /** Requests of the replicas that would change an object, whatever came of them. */
  attempts: number;
  /** Versions made by anybody, leases of the replicas apart: an apply that changes nothing makes none. */
  written: number;
  /** Requests by what they do, watches and renewed Leases apart. */
  byKind: Record<string, number>;
}

/** Writes while `task` ran, and until all replicas were quiet for a second, or `quietMs`. */
export async function countWrites(
  { admin }: BenchCluster,
  replicas: readonly Replica[],
  task: () => Promise<void>,
  quietMs?: number,
): Promise<Writes> {
  const readCounts = async (): Promise<Writes> => {
    const requests = await Promise.all(replicas.map((replica) => replica.requests()));
    const sum = (of: (one: Requests) => number): number => requests.reduce((all, one) => all + of(one), 0);
    return {
      requests: sum(({ all, leases }) => all - leases),
      attempts: sum(({ writes }) => writes),
      written: (await versionOf(admin)) - sum(({ leases }) => leases),
      byKind: addUp(requests.map(({ byKind }) => byKind)),
    };
  };
  const before = await readCounts();
  await task();
  await waitUntilIdle(replicas, quietMs);
  const after = await readCounts();
  return {
    requests: after.requests - before.requests,
    attempts: after.attempts - before.attempts,
    written: after.written - before.written,
    byKind: addUp([after.byKind], before.byKind),
  };
}

/** Without those that stay at nothing. */
function addUp(counts: readonly Record<string, number>[], less: Record<string, number> = {}): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const one of counts)
    for (const [kind, count] of Object.entries(one)) sum[kind] = (sum[kind] ?? -(less[kind] ?? 0)) + count;
  return Object.fromEntries(Object.entries(sum).filter(([, count]) => count !== 0));
}

/** Kubernetes' store counts its writes; a list tells the newest. */
async function versionOf(admin: KubeClient): Promise<number> {
  const { metadata } = (await admin.raw("GET", "/api/v1/namespaces?limit=1")) as {
    metadata: { resourceVersion: string };
  };
  return Number(metadata.resourceVersion);
}
