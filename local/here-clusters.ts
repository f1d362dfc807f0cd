// Clusters that the laptop runs on this machine: for each Cluster with the label `cupola.dev/here` an embedded API server and a runner of its own. The
// platform reaches them as it reaches any other cluster, and does not know where they run.
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { createDirectoryStore } from "../blobs/directory/directory-store.ts";
import { createProcessRunner, type ProcessRunner } from "../backends/runners/process/process.ts";
import { hostLauncher } from "../backends/runners/process/runner-context.ts";
import { BackendClass } from "../crds/backend-class/backend-class.ts";
import { spokeCleanUpController } from "../controllers/spoke/clean-up.ts";
import { Cluster } from "../crds/cluster/cluster.ts";
import { HERE_LABEL } from "../crds/cluster/local-cluster.ts";
import { LRP } from "../crds/lrp/lrp.ts";
import { RouteBinding } from "../crds/route-binding/route-binding.ts";
import { TaskRun } from "../crds/task-run/task-run.ts";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { PLATFORM_GROUP } from "../crds/platform-role.ts";
import { systemObject } from "../crds/settings-object.ts";
import { Secret } from "../kube/api/builtin.ts";
import { createInformers, type Informers } from "../kube/cache/informers.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { createClient, type ClusterAccess } from "../kube/client/create-client.ts";
import { runControllers, type RunControllersOptions } from "../kube/controller/run-controllers.ts";
import { applyObjects, installManifests } from "../platform/install.ts";
import { joinReplicas, leaseTiming, newReplicaIdentity } from "../platform/leases/replica-membership.ts";
import { CONTROLLER_SETTINGS } from "../platform/operations/controller-settings.ts";
import { TELEMETRY_SECRET, tokenOf } from "../platform/telemetry/telemetry-secret.ts";
import { startTelemetry, toTelemetryAnnotations, type LocalTelemetry } from "../platform/telemetry/telemetry-server.ts";
import { startApiServer } from "./apiserver/server.ts";
import { startHereAgent } from "./here-agent.ts";
import type { Home } from "./home.ts";

export interface HereClustersOptions {
  home: Home;
  /** The platform's own cluster, as its administrator. */
  admin: KubeClient;
  /** The address of that cluster, for an agent that calls it. */
  hub: Pick<ClusterAccess, "server" | "ca">;
  log: Logger;
}

export interface HereClusters {
  /** Ends their instances, too. */
  stop(): Promise<void>;
}

const HOST = "127.0.0.1";
const STOPPED = "stopped";
const SYNC_DEADLINE_MS = 10_000;

/** Starts those that are there, and from then on follows the Clusters. A cluster that fails to start is logged, and tried again after a change. */
export async function startHereClusters(options: HereClustersOptions): Promise<HereClusters> {
  const { admin, log } = options;
  const informers = createInformers({ client: admin, log });
  const { store } = informers.ensure(Cluster, { labelSelector: HERE_LABEL });
  const running = new Map<string, Promise<() => Promise<void>>>();
  let turn = Promise.resolve();
  const settle = async (): Promise<void> => {
    const wanted = store
      .list()
      .filter(({ metadata }) => !metadata.deletionTimestamp && metadata.labels?.[HERE_LABEL] !== STOPPED)
      .map(({ metadata }) => metadata.name);
    for (const [name, end] of running) {
      if (wanted.includes(name)) continue;
      running.delete(name);
      await end.then((stop) => stop());
    }
    for (const name of wanted) {
      if (running.has(name)) continue;
      const started = startHereCluster(name, { ...options, informers });
      running.set(name, started);
      await started.catch((err: unknown) => {
        running.delete(name);
        log.error({ err, cluster: name }, "a cluster of this machine could not start");
      });
    }
  };
  const run = (): void => void (turn = turn.then(settle).catch((err: unknown) => log.error({ err }, "clusters here")));
  const unsubscribe = store.onChange(run);
  await store.waitSynced(10_000);
  run();
  await turn;
  return {
    async stop() {
      unsubscribe();
      await turn;
      await Promise.all([...running.values()].map(async (end) => (await end)()));
      await informers.close();
    },
  };
}

async function startHereCluster(
  name: string,
  options: HereClustersOptions & { informers: Informers },
): Promise<() => Promise<void>> {
  const disposables = new AsyncDisposableStack();
  try {
    await start(name, options, disposables);
    return () => disposables.disposeAsync();
  } catch (error) {
    await disposables.disposeAsync();
    throw error;
  }
}

async function start(
  name: string,
  { home, admin, hub, log, informers }: HereClustersOptions & { informers: Informers },
  disposables: AsyncDisposableStack,
): Promise<void> {
  const dir = join(home.dir, "clusters", name);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const known = readOrCreateAccess(dir);
  const server = await startApiServer({
    dir: join(dir, "kube"),
    host: HOST,
    port: known.port,
    tokens: new Map([
      [known.runner, { name: "cupola", groups: [PLATFORM_GROUP] }],
      [known.hub, { name: "cupola-hub", groups: ["system:masters"] }],
    ]),
    onError: (err) => log.error({ err, cluster: name }, "Kubernetes API"),
  });
  disposables.defer(() => server.stop());
  writeAccess(dir, { ...known, port: server.port });
  const connect = (token: string): KubeClient => {
    const access = { server: server.url, ca: server.ca, auth: { kind: "token", token } as const };
    const client = createClient({ ...access, fieldManager: "cupola", userAgent: "cupola-here" });
    disposables.defer(() => client.close());
    return client;
  };
  const installer = connect(known.hub);
  await installManifests(installer);
  await applyObjects(installer, [
    systemObject(BackendClass, "process", { role: "runner", default: true }),
    systemObject(BackendClass, "process-task", { role: "task-runner", default: true }),
  ]);
  await startRunner({ name, dir, home, admin, informers, client: connect(known.runner), log }, disposables);
  const { spec } = await admin.get(Cluster, { namespace: SYSTEM_NAMESPACE, name });
  if (spec.mode === "push") await announce(name, admin, { server: server.url, ca: server.ca, token: known.hub });
  else startHereAgent({ cluster: name, hub, admin, log, connectHere: () => connect(known.hub) }, disposables);
}

interface RunnerOptions {
  name: string;
  dir: string;
  home: Home;
  admin: KubeClient;
  informers: Informers;
  /** The cluster's own. */
  client: KubeClient;
  log: Logger;
}

/** A runner whose logs and stats the platform reads as those of a replica of its own. Droplets are where the platform keeps them. */
async function startRunner(
  { name, dir, home, admin, informers: hubInformers, client, log: parent }: RunnerOptions,
  disposables: AsyncDisposableStack,
): Promise<void> {
  const log = parent.child({ cluster: name });
  const { telemetry, server } = await serveTelemetry(admin, log, disposables);
  const informers = createInformers({ client, log });
  disposables.defer(() => informers.close());
  const runner = createProcessRunner({
    home: join(dir, "instances"),
    client,
    informers,
    telemetry,
    launcher: hostLauncher(await createDirectoryStore(join(home.data, "blobs")), join(home.data, "droplets")),
    onError: (err, what) => log.error({ err }, what),
  });
  disposables.defer(() => runner.stop("stop"));
  // It reads these when it starts.
  informers.ensure(LRP);
  informers.ensure(TaskRun);
  informers.ensure(RouteBinding);
  await informers.waitSynced(SYNC_DEADLINE_MS);
  await runner.start();
  await runRunner(runner, { client, informers, log }, disposables);
  const membership = joinReplicas({
    client: admin,
    informers: hubInformers,
    log,
    operations: ["process-runner"],
    identity: newReplicaIdentity(),
    timing: leaseTiming().member,
    annotations: toTelemetryAnnotations(server),
    onRejoined: () => Promise.resolve(),
  });
  disposables.defer(() => membership.leave());
}

async function serveTelemetry(
  admin: KubeClient,
  log: Logger,
  disposables: AsyncDisposableStack,
): Promise<Required<Pick<LocalTelemetry, "telemetry" | "server">>> {
  const secret = tokenOf(await admin.get(Secret, { namespace: SYSTEM_NAMESPACE, name: TELEMETRY_SECRET }));
  if (secret === undefined) throw new Error(`the Secret ${TELEMETRY_SECRET} has no key token`);
  const { telemetry, server } = await startTelemetry({
    secret: () => secret,
    secretRef: { name: TELEMETRY_SECRET },
    address: HOST,
    log,
  });
  if (!telemetry || !server) throw new Error("telemetry has no server");
  disposables.defer(() => server.close());
  return { telemetry, server };
}

async function runRunner(
  { controllers }: Pick<ProcessRunner, "controllers">,
  deps: Pick<RunControllersOptions, "client" | "informers" | "log">,
  disposables: AsyncDisposableStack,
): Promise<void> {
  const abort = new AbortController();
  const all = [...controllers, spokeCleanUpController()];
  const run = runControllers({ ...deps, controllers: all, ownership: CONTROLLER_SETTINGS, signal: abort.signal });
  disposables.defer(async () => {
    abort.abort();
    await run.stopped;
  });
  await run.synced;
}

/** Tells the platform where the cluster is, as an operator would. */
async function announce(
  name: string,
  admin: KubeClient,
  { server, ca, token }: { server: string; ca: string; token: string },
): Promise<void> {
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  const secret = { namespace: SYSTEM_NAMESPACE, name: `cluster-${name}` };
  await admin.apply(
    Secret,
    { metadata: secret, type: "Opaque", data: { token: encode(token), "ca.crt": encode(ca) } },
    { fieldManager: "cupola-here", force: true },
  );
  await admin.patch(
    Cluster,
    { namespace: SYSTEM_NAMESPACE, name },
    { type: "merge", body: { spec: { server, credentialsRef: { name: secret.name } } } },
  );
}

/** Tokens of the cluster's own runner and of the platform. */
interface Access {
  runner: string;
  hub: string;
  /** 0: any free one. */
  port: number;
}

function readOrCreateAccess(dir: string): Access {
  try {
    return JSON.parse(readFileSync(join(dir, "access.json"), "utf8")) as Access;
  } catch {
    const token = (): string => randomBytes(24).toString("base64url");
    return { runner: token(), hub: token(), port: 0 };
  }
}

function writeAccess(dir: string, access: Access): void {
  writeFileSync(join(dir, "access.json"), JSON.stringify(access), { mode: 0o600 });
}
