// A platform with many simulated clusters and apps on them: the hub's API server, its controllers and the clusters, each in a process of its own.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pLimit from "p-limit";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../../crds/cluster/cluster.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { IsolationSegment } from "../../../crds/isolation-segment/isolation-segment.ts";
import { Org } from "../../../crds/org/org.ts";
import { Process } from "../../../crds/process/process.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { Space } from "../../../crds/space/space.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import type { ApiServerProcessOptions } from "../apiserver-process.ts";
import { startChild, type Child } from "../child-process.ts";
import type { PlatformProcessOptions } from "../platform-process.ts";
import { until, waitUntilStable } from "../until.ts";
import type { SpokeCounts, SpokesProcessOptions } from "./spokes-process.ts";

/** Clusters of each app, and its instances. */
export const CLUSTERS_OF_APP = 3;
const SPACES = 10;
const PARALLEL = 32;
const IMAGE = "registry.example.org/app@sha256:0000000000000000000000000000000000000000000000000000000000000000";

export interface ManyClusters {
  admin: KubeClient;
  apiserver: Child;
  controllers: Child;
  spokes: Child;
  /** Keys of the apps' web processes. */
  processes: { namespace: string; name: string; app: string }[];
  /** Seconds from the first app until all LRPs were on their clusters. */
  startSeconds: number;
  rest(): Promise<void>;
  stop(): Promise<void>;
}

export interface Size {
  clusters: number;
  apps: number;
}

export async function startManyClusters(size: Size): Promise<ManyClusters> {
  const dir = mkdtempSync(join(tmpdir(), "cupola-bench-"));
  const disposables = new AsyncDisposableStack();
  disposables.defer(() => rmSync(dir, { recursive: true, force: true }));
  try {
    return await startIn(dir, size, disposables);
  } catch (error) {
    await disposables.disposeAsync();
    throw error;
  }
}

async function startIn(dir: string, size: Size, disposables: AsyncDisposableStack): Promise<ManyClusters> {
  const token = (): string => randomBytes(24).toString("base64url");
  const tokens = { platform: token(), admin: token(), developer: token() };
  const start = (file: string, options: object): Child => {
    const child = startChild(join(import.meta.dirname, file), options);
    disposables.defer(() => child.stop());
    return child;
  };
  const apiserver = start("../apiserver-process.ts", {
    dir: join(dir, "kube"),
    tokens,
  } satisfies ApiServerProcessOptions);
  const access = await apiserver.request<PlatformProcessOptions["access"]>("access");
  const admin = createClient({ ...access, auth: { kind: "token", token: tokens.admin } });
  disposables.defer(() => admin.close());
  const spokes = start("spokes-process.ts", { count: size.clusters } satisfies SpokesProcessOptions);
  await installManifests(admin);
  await prepareHub(admin, await spokes.request<[string, string][]>("urls"));
  const controllers = start("../platform-process.ts", {
    access,
    token: tokens.platform,
    operations: ["controllers"],
    data: join(dir, "data"),
  } satisfies PlatformProcessOptions);
  await controllers.request("url");
  await untilReachable(admin, size.clusters);
  const namespaces = await makeSpaces(admin);
  const processes = toProcesses(namespaces, size.apps);
  const started = performance.now();
  await makeApps(admin, processes);
  await untilLRPs(spokes, size.apps * CLUSTERS_OF_APP);
  const startSeconds = (performance.now() - started) / 1000;
  const rest = (): Promise<void> =>
    waitUntilStable(
      () => controllers.request("idle"),
      () => apiserver.request("version"),
    );
  const stop = (): Promise<void> => disposables.disposeAsync();
  return { admin, apiserver, controllers, spokes, processes, startSeconds, rest, stop };
}

async function prepareHub(admin: KubeClient, urls: readonly [string, string][]): Promise<void> {
  await applyObjects(admin, [systemObject(BackendClass, "runner", { role: "runner", default: true })]);
  await admin.patch(
    BackendClass,
    { name: "runner" },
    { type: "merge", body: { status: { capabilities: { indexes: "any" } } } },
    { subresource: "status" },
  );
  await admin.create(Secret, {
    metadata: { namespace: SYSTEM_NAMESPACE, name: "clusters" },
    data: { token: btoa("token"), "ca.crt": btoa("none: the clusters speak HTTP") },
  });
  for (const [name, server] of urls)
    await admin.create(Cluster, {
      metadata: { namespace: SYSTEM_NAMESPACE, name, labels: { tier: "simulated" } },
      spec: { mode: "push", server, credentialsRef: { name: "clusters" } },
    } as never);
  const placement = { clusters: { matchLabels: { tier: "simulated" } }, count: CLUSTERS_OF_APP };
  await applyObjects(admin, [systemObject(IsolationSegment, "shared", { name: "shared", placement })]);
}

async function untilReachable(admin: KubeClient, count: number): Promise<void> {
  const isReachable = ({ status }: Cluster): boolean =>
    status?.conditions?.some(({ type, status: is }) => type === "Reachable" && is === "True") ?? false;
  await until(
    async () => (await admin.list(Cluster)).items.filter(isReachable).length === count,
    "the clusters are not all reached",
    500,
  );
}

async function makeSpaces(admin: KubeClient): Promise<string[]> {
  await admin.create(Org, { metadata: { name: "acme" }, spec: {} });
  const namespaceOf = async (): Promise<string | undefined> =>
    (await admin.get(Org, { name: "acme" })).status?.namespace;
  await until(async () => (await namespaceOf()) !== undefined, "the org has no namespace");
  const namespace = (await namespaceOf()) ?? "";
  for (let at = 0; at < SPACES; at++) await admin.create(Space, { metadata: { namespace, name: `s${at}` }, spec: {} });
  const made = async (): Promise<string[]> =>
    (await admin.list(Space)).items.flatMap(({ status }) => status?.namespace ?? []);
  await until(async () => (await made()).length === SPACES, "the spaces have no namespaces");
  return made();
}

function toProcesses(namespaces: readonly string[], count: number): ManyClusters["processes"] {
  return Array.from({ length: count }, (_, at) => {
    const app = `app-${at}`;
    return { namespace: namespaces[at % namespaces.length] ?? "", name: `${app}.web`, app };
  });
}

/** As `kubectl` makes them. */
async function makeApps(admin: KubeClient, processes: ManyClusters["processes"]): Promise<void> {
  const limit = pLimit(PARALLEL);
  const make = async ({ namespace, name, app }: ManyClusters["processes"][number]): Promise<void> => {
    await admin.create(Droplet, {
      metadata: { name: app, namespace },
      spec: { appRef: { name: app }, kind: "docker", lifecycleType: "docker", image: IMAGE, processTypes: { web: "" } },
    } as never);
    const spec = { appRef: { name: app }, type: "web", memoryMB: 64, instances: CLUSTERS_OF_APP };
    await admin.create(Process, { metadata: { name, namespace }, spec } as never);
    await admin.create(App, {
      metadata: { name: app, namespace },
      spec: { name: app, state: "Started", lifecycle: { type: "docker" }, droplet: { name: app } },
    } as never);
  };
  await Promise.all(processes.map((process) => limit(() => make(process))));
}

/** Until the clusters have so many LRPs. */
export async function untilLRPs(spokes: Child, count: number): Promise<void> {
  await until(
    async () => (await spokes.request<SpokeCounts>("counts")).lrps >= count,
    `there are not ${count} LRPs on the clusters`,
  );
}
