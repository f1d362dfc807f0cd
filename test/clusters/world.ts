// A hub and its spokes, each spoke behind a link that can fail, with played runners. Replicas of the hub's controllers are started by the test.
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { wantedIndexes } from "../../crds/lrp/index-pool.ts";
import { systemObject } from "../../crds/settings-object.ts";
import { Namespace, Secret } from "../../kube/api/builtin.ts";
import type { Condition, KubeObject } from "../../kube/api/object.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { applyObjects, installManifests } from "../../platform/install.ts";
import { expect } from "vitest";
import { eventually } from "../eventually.ts";
import type { TokenUser } from "../cluster/control-plane-commands.ts";
import { startLink, type Link } from "./link.ts";
import { playRunner, type PlayedRunner } from "./played-runner.ts";
import { startWorldServer, type WorldServer } from "./world-server.ts";
import { addPlayedAgent, type PlayedAgent } from "./pull-spoke.ts";

export interface Spoke {
  client: KubeClient;
  /** Its API server, without the link. */
  server: Pick<WorldServer, "url" | "ca" | "adminToken">;
  /** Between the hub and it. */
  link: Link;
  runner: PlayedRunner;
  /** Set for a spoke in mode pull. The link is then its way to the hub. */
  agent?: PlayedAgent;
}

export interface World {
  hub: KubeClient;
  hubServer: WorldServer;
  hubRunner: PlayedRunner;
  spokes: ReadonlyMap<string, Spoke>;
  spoke(name: string): Spoke;
  /** A client of the hub's API server; its owner closes it. */
  connect(token?: string): KubeClient;
  stop(): Promise<void>;
}

export const ADMIN = "admin-token";

export interface WorldOptions {
  spokes: readonly string[];
  /** Those that the hub cannot call. */
  pulls?: readonly string[];
  users?: readonly TokenUser[];
}

export async function startWorld({ spokes: names, pulls = [], users = [] }: WorldOptions): Promise<World> {
  const disposables = new AsyncDisposableStack();
  try {
    return await start({ names, pulls }, users, disposables);
  } catch (error) {
    await disposables.disposeAsync();
    throw error;
  }
}

async function start(
  { names, pulls }: { names: readonly string[]; pulls: readonly string[] },
  users: NonNullable<WorldOptions["users"]>,
  disposables: AsyncDisposableStack,
): Promise<World> {
  const server = await startWorldServer(users);
  disposables.defer(() => server.stop());
  const hub = connectTo(server, disposables);
  await installManifests(hub);
  await server.restartControllers?.();
  await applyObjects(hub, [
    systemObject(BackendClass, "runner", { role: "runner", default: true }),
    systemObject(BackendClass, "router", { role: "router", default: true }),
    systemObject(Domain, "apps.example", { name: "apps.example" }),
  ]);
  await letSplit(hub);
  const hubRunner = await playRunner(hub);
  disposables.defer(() => hubRunner.stop());
  const spokes = new Map<string, Spoke>();
  for (const name of names) {
    const spoke = await startSpoke(disposables);
    const join = pulls.includes(name) ? joinByPull : joinByPush;
    spokes.set(name, await join(name, { hub, hubServer: server, spoke, disposables }));
  }
  return {
    hub,
    hubServer: server,
    hubRunner,
    spokes,
    spoke(name) {
      const found = spokes.get(name);
      if (!found) throw new Error(`no spoke ${name}`);
      return found;
    },
    connect: (token = ADMIN) => connectTo({ ...server, adminToken: token }),
    stop: () => disposables.disposeAsync(),
  };
}

function connectTo(
  server: Pick<WorldServer, "url" | "ca" | "adminToken">,
  disposables?: AsyncDisposableStack,
): KubeClient {
  const auth = { kind: "token", token: server.adminToken } as const;
  const client = createClient({ server: server.url, ca: server.ca, auth, fieldManager: "person" });
  disposables?.defer(() => client.close());
  return client;
}

/** Its runner takes any part of a process's indexes. */
async function letSplit(client: KubeClient): Promise<void> {
  const body = { status: { capabilities: { indexes: "any" } } };
  await client.patch(BackendClass, { name: "runner" }, { type: "merge", body }, { subresource: "status" });
}

/** The right of the hub's account on a spoke. */
export const HUB_BINDING = "hub";

export function hubBinding(): KubeObject {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: HUB_BINDING },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "hub" }],
  } as KubeObject;
}

type SpokeServer = Pick<Spoke, "client" | "runner"> & { server: WorldServer; token: string };

async function startSpoke(disposables: AsyncDisposableStack): Promise<SpokeServer> {
  const token = "hub-token";
  const server = await startWorldServer([{ token, user: "hub" }]);
  disposables.defer(() => server.stop());
  const client = connectTo(server, disposables);
  await installManifests(client);
  await server.restartControllers?.();
  await applyObjects(client, [
    systemObject(BackendClass, "runner", { role: "runner", default: true }),
    systemObject(BackendClass, "router", { role: "router", default: true }),
    hubBinding(),
  ]);
  await letSplit(client);
  const runner = await playRunner(client);
  disposables.defer(() => runner.stop());
  return { client, runner, server, token };
}

interface Joining {
  hub: KubeClient;
  hubServer: WorldServer;
  spoke: SpokeServer;
  disposables: AsyncDisposableStack;
}

async function linkTo(server: WorldServer, disposables: AsyncDisposableStack): Promise<Link> {
  const { hostname: host, port } = new URL(server.url);
  const link = await startLink({ host, port: Number(port) });
  disposables.defer(() => link.close());
  return link;
}

async function joinByPush(name: string, { hub, spoke, disposables }: Joining): Promise<Spoke> {
  const { client, runner, server, token } = spoke;
  const link = await linkTo(server, disposables);
  await join(hub, name, { server: `https://127.0.0.1:${link.port}`, ca: server.ca, token });
  return { client, server, link, runner };
}

async function joinByPull(cluster: string, { hub, hubServer, spoke, disposables }: Joining): Promise<Spoke> {
  const { client, runner, server, token } = spoke;
  const link = await linkTo(hubServer, disposables);
  const agent = await addPlayedAgent({
    cluster,
    hub,
    server: `https://127.0.0.1:${link.port}`,
    ca: hubServer.ca,
    connectHere: () => connectTo({ ...server, adminToken: token }),
  });
  disposables.defer(() => agent.kill());
  return { client, server, link, runner, agent };
}

async function join(
  hub: KubeClient,
  name: string,
  { server, ca, token }: { server: string; ca: string; token: string },
): Promise<void> {
  const secret = `cluster-${name}`;
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  await hub.apply(
    Secret,
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: SYSTEM_NAMESPACE, name: secret },
      data: { token: encode(token), "ca.crt": encode(ca) },
    },
    { fieldManager: "person", force: true },
  );
  await applyObjects(hub, [systemObject(Cluster, name, { mode: "push", server, credentialsRef: { name: secret } })]);
}

/** The segment of all spaces. `labels`: of the clusters that it chooses; all when left out. */
export async function placeShared(hub: KubeClient, spec: Partial<IsolationSegment["spec"]> = {}): Promise<void> {
  const body = { spec: { placement: { clusters: { matchLabels: {} } }, ...spec } };
  await hub.patch(IsolationSegment, { namespace: SYSTEM_NAMESPACE, name: "shared" }, { type: "merge", body });
}

export async function conditionOf(hub: KubeClient, cluster: string, type: string): Promise<Condition | undefined> {
  const { status } = await hub.get(Cluster, { namespace: SYSTEM_NAMESPACE, name: cluster });
  return (status?.conditions as Condition[] | undefined)?.find((one) => one.type === type);
}

export async function untilReachable({ hub }: World, ...clusters: readonly string[]): Promise<void> {
  for (const name of clusters)
    await eventually(async () => expect(await conditionOf(hub, name, "Reachable")).toMatchObject({ status: "True" }));
}

/** The clusters with instances of an app, and the indexes of these. */
export async function placesOf(world: World, app: string): Promise<[string[], number[]]> {
  const seen = await listLRPs(world, app);
  return [clustersOf(seen), indexesOf(seen)];
}

export interface SeenLRP {
  /** `local`, or a spoke. */
  cluster: string;
  lrp: LRP;
}

/** Every LRP of an app, on all clusters. */
export async function listLRPs({ hub, spokes }: World, app?: string): Promise<SeenLRP[]> {
  const clusters: [string, KubeClient][] = [
    ["local", hub],
    ...[...spokes].map(([name, { client }]) => [name, client] as [string, KubeClient]),
  ];
  const lists = await Promise.all(
    clusters.map(async ([cluster, client]) => (await client.list(LRP)).items.map((lrp): SeenLRP => ({ cluster, lrp }))),
  );
  return lists.flat().filter(({ lrp }) => app === undefined || lrp.spec.app.name === app);
}

/** Indexes that are wanted, each as often as a cluster has it. */
export function indexesOf(seen: readonly SeenLRP[]): number[] {
  return seen
    .filter(({ lrp }) => !lrp.metadata.deletionTimestamp)
    .flatMap(({ lrp }) => wantedIndexes(lrp.spec))
    .sort((a, b) => a - b);
}

/** Clusters with instances of an app. */
export function clustersOf(seen: readonly SeenLRP[]): string[] {
  const held = seen.filter(({ lrp }) => !lrp.metadata.deletionTimestamp && wantedIndexes(lrp.spec).length > 0);
  return [...new Set(held.map(({ cluster }) => cluster))].toSorted();
}

/** An LRP on a spoke with the marks of a hub, whose owner does not exist. */
export async function leaveOrphan(
  spoke: KubeClient,
  like: LRP,
  { namespace, name }: { namespace: string; name: string },
): Promise<LRP> {
  const labels = { ...like.metadata.labels, [LABELS.hubOwner]: crypto.randomUUID() };
  const annotations = { ...like.metadata.annotations, "cupola.dev/hub-object": `Process ${namespace}/${name}.web` };
  const at = like.metadata.namespace ?? "";
  if (!(await spoke.find(Namespace, { name: at }))) await spoke.create(Namespace, { metadata: { name: at } });
  return spoke.create(LRP, { metadata: { namespace: at, name, labels, annotations }, spec: like.spec });
}

/** Kubernetes' own autoscaler on an LRP. Without metrics it keeps to its minimum. */
export async function autoscale(client: KubeClient, lrp: LRP, minReplicas: number): Promise<void> {
  const { namespace = "", name } = lrp.metadata;
  await client.raw("POST", `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`, {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { namespace, name },
    spec: {
      scaleTargetRef: { apiVersion: lrp.apiVersion, kind: "LRP", name },
      minReplicas,
      maxReplicas: minReplicas + 1,
    },
  });
}
