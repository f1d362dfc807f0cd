// Starts the operations of one process: its client and watches, its membership, controllers, backends, API and the port they share.
import { join } from "node:path";
import { DEFAULT_SCRATCH_BYTES, processScratch } from "../blobs/scratch/scratch-space.ts";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "../kube/client/create-client.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { omitUndefined } from "../kube/api/omit-undefined.ts";
import { createReadiness, type Readiness, type ReadinessReport } from "../kube/server/readiness.ts";
import { createInformers, type Informers } from "../kube/cache/informers.ts";
import { createEventRecorder } from "../kube/controller/event-recorder.ts";
import { currentSpan } from "../kube/tracing/current-span.ts";
import type { Tracing } from "../kube/tracing/tracing.ts";
import { watchMissingPermissions } from "../kube/rbac/missing-permissions.ts";
import { watchLostPermissions } from "../kube/rbac/lost-permissions.ts";
import type { ResourceRule } from "../kube/rbac/resource-rules.ts";
import { API_FIELD_MANAGER, SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { recordLastWrite } from "../api/cache/object-times.ts";
import type { KubeObject } from "../kube/api/object.ts";
import { recordOutsideWriters } from "../crds/audit-log/outside-writers.ts";
import { presentHealth, startPlatformServer } from "./http/platform-server.ts";
import type { HttpServer } from "./http/http-server.ts";
import { checkDiskSpace } from "./disk-space.ts";
import { openBlobs } from "./open-blobs.ts";
import { joinPeers, needsPeerServers, startPeerServers } from "./peers/start-peers.ts";
import { createRemoteProcesses } from "../backends/remote-process.ts";
import { PLATFORM_NAMESPACES } from "./watch-namespaces.ts";
import type {
  PeerServers,
  PlatformContext,
  RequestHandlers,
  ShutdownMode,
  StartupContext,
} from "./platform-context.ts";
import type { PlatformOptions } from "./platform-options.ts";
import { startPolicies } from "./policies/start-policies.ts";
import { presentMissingPermissions } from "./readiness.ts";
import type { RunningLeaderWork } from "../kube/lease/leader-work.ts";
import { createProcessMetrics, type ProcessMetrics } from "./metrics/process-metrics.ts";
import { startMetrics } from "./metrics/start-metrics.ts";
import { startTracing } from "./traces/start-tracing.ts";
import { followStarts } from "./traces/follow-starts.ts";
import { newReplicaIdentity } from "./leases/replica-membership.ts";
import { reportReplica } from "./leases/replica-reporter.ts";
import { startApiOperation } from "./http/start-api.ts";
import { startWebhookOperation } from "./operations/webhook.ts";
import { watchOperationBindings } from "./operations/operation-bindings.ts";
import { keepInstallationKeys } from "./operations/installation-keys.ts";
import { toOperationPermissions } from "./operations/permissions.ts";
import { waitUntilReady } from "./startup.ts";
import { startClusterRelay } from "./telemetry/cluster-relay.ts";
import { startRouteServiceOperation } from "./route-services/start-route-services.ts";
import { startInternalDNS } from "./internal-dns/start-internal-dns.ts";
import { startHubLogs } from "./telemetry/hub-logs.ts";
import { startLogsOperation } from "./telemetry/start-logs.ts";
import { startClusters } from "./operations/clusters.ts";
import { watchInstalledObjects } from "./operations/installed-objects.ts";
import { startBackends, startControllers, startSingletons } from "./operations/start-controllers.ts";

export interface RunningPlatform {
  url: string;
  ready(): boolean;
  /** The report of `/readyz`. */
  health(): ReadinessReport;
  /** Resolves when no controller has work queued or running. */
  idle(): Promise<void>;
  /** Operations whose elected part runs in this process now. */
  leads(): string[];
  /** Stops serving, finishes work in progress, and gives up its membership last. */
  stop(options: { instances: "keep" | "end" }): Promise<void>;
}

const DEFAULT_DRAIN_MS = 5_000;

/**
 * Starts, and waits until the caches contain everything that existed at the start. It waits for an unreachable cluster and for missing permissions; `/readyz`
 * and the log name them. @throws Error when the port is taken or `signal` aborts; everything started is stopped then
 */
export async function startPlatform(options: PlatformOptions): Promise<RunningPlatform> {
  const disposables = new AsyncDisposableStack();
  try {
    return await start(identify(options), disposables);
  } catch (error) {
    await disposables.disposeAsync();
    throw error;
  }
}

async function start({ identity, options }: Identified, disposables: AsyncDisposableStack): Promise<RunningPlatform> {
  const { operations, signal = new AbortController().signal } = options;
  const readiness = createReadiness();
  const observers = await startObservers(options, identity, disposables);
  const { client, informers } = connect({ ...options, ...observers }, readiness, disposables);
  const progress = { started: false };
  await beginScratch(options, readiness);
  const opened = { ...(await openBlobs(options, readiness, disposables)), remoteProcesses: createRemoteProcesses() };
  readiness.addCheck("start", () => progress.started || "not all parts have been started");
  const handlers: RequestHandlers = { backends: [] };
  const server = disposables.adopt(await startPlatformServer(options, readiness, handlers), (one) => one.close());
  const startupContext: StartupContext = {
    options,
    identity,
    log: options.log,
    client,
    informers,
    ...opened,
    readiness,
    disposables,
    signal,
    shutdownMode: { instances: "keep" },
    apiURL: options.publicURL ?? server.url,
    ...observers,
  };
  const peerServers = needsPeerServers(operations) ? await startPeerServers(startupContext) : undefined;
  const joined = { ...startupContext, membership: await joinPeers(startupContext, peerServers, handlers) };
  const context = { ...joined, ...startPolicies(joined) };
  const { elections, ...work } = await startOperations(context, peerServers, handlers);
  await startMetrics(context, { health: () => presentHealth(readiness, handlers), elections });
  progress.started = true;
  await waitUntilReady(readiness, signal, options.log);
  return {
    url: server.url,
    ready: () => presentHealth(readiness, handlers).ready,
    health: () => presentHealth(readiness, handlers),
    ...work,
    stop: ({ instances }) => stop(context, server, instances),
  };
}

interface Identified {
  identity: string;
  options: PlatformOptions;
}

/** The name of this process among the replicas, on each line of its log. */
function identify(options: PlatformOptions): Identified {
  const identity = newReplicaIdentity();
  return { identity, options: { ...options, log: options.log.child({ replica: identity }) } };
}

function beginScratch(
  { data, scratchBytes = DEFAULT_SCRATCH_BYTES }: PlatformOptions,
  readiness: Readiness,
): Promise<void> {
  readiness.addCheck("disk", () => checkDiskSpace(data));
  return processScratch.begin({ folder: join(data, "scratch"), maxBytes: scratchBytes });
}

/** Where the parts of a process report what they did. */
interface Observers {
  metrics: ProcessMetrics | undefined;
  tracing: Tracing | undefined;
}

async function startObservers(
  options: PlatformOptions,
  identity: string,
  disposables: AsyncDisposableStack,
): Promise<Observers> {
  const metrics = options.metrics && (await createProcessMetrics());
  return { metrics, tracing: await startTracing(options, identity, disposables) };
}

type ConnectOptions = Omit<PlatformOptions, "metrics"> & Observers;

function connect(
  { access, operations, log, onRequest, watchTiming, metrics, tracing }: ConnectOptions,
  readiness: Readiness,
  disposables: AsyncDisposableStack,
): { client: KubeClient; informers: Informers } {
  const stopped = new AbortController();
  disposables.defer(() => stopped.abort());
  const declared = (): ResourceRule[] =>
    operations.flatMap((operation) => {
      const { cluster, system } = toOperationPermissions(operation);
      return [...cluster, ...system];
    });
  const watching = { client: () => client, log, signal: stopped.signal };
  const missingPermissions = watchMissingPermissions(watching);
  const lostPermissions = watchLostPermissions({ ...watching, declared, namespace: SYSTEM_NAMESPACE });
  readiness.addCheck("permissions", () =>
    presentMissingPermissions([...lostPermissions(), ...missingPermissions.list()]),
  );
  const client = createClient({
    ...access,
    fieldManager: API_FIELD_MANAGER,
    userAgent: "cupola",
    onRequest: (record) => {
      missingPermissions.observe(record);
      metrics?.observeRequest(record);
      if (tracing) currentSpan()?.observeRequest(record);
      onRequest?.(record);
    },
  });
  disposables.defer(() => client.close());
  const informers = createInformers({
    client,
    log,
    transform: operations.includes("controllers") ? recordWriters : recordLastWrite,
    namespaceScope: PLATFORM_NAMESPACES,
    ...omitUndefined({ timing: watchTiming }),
  });
  disposables.defer(() => informers.close());
  return { client, informers };
}

/** For the leader's audit events of writes past the API. */
function recordWriters(object: KubeObject): KubeObject {
  return recordOutsideWriters(recordLastWrite(object));
}

/** Starts all operations of this process, and sets their request handlers in `handlers`. */
async function startOperations(
  joined: PlatformContext,
  peerServers: PeerServers | undefined,
  handlers: RequestHandlers,
): Promise<Pick<RunningPlatform, "idle" | "leads"> & { elections: readonly RunningLeaderWork[] }> {
  const { operations } = joined.options;
  const context = operations.includes("controllers") ? { ...joined, clusters: startClusters(joined) } : joined;
  handlers.backends = await startBackends(context, peerServers);
  await startTelemetryOperations(context, peerServers, handlers);
  if (operations.includes("webhook")) await startWebhookOperation(context);
  if (operations.includes("route-service")) await startRouteServiceOperation(context);
  if (operations.includes("internal-dns")) await startInternalDNS(context);
  const sshAddress = await startSSH(context);
  if (operations.includes("api") && peerServers) handlers.api = startApiOperation(context, { peerServers, sshAddress });
  if (operations.includes("controllers")) {
    const installed = watchInstalledObjects(context.informers);
    context.disposables.defer(() => installed.release());
    context.readiness.addCheck("installation", installed.check);
    const bindings = watchOperationBindings(context.informers);
    context.disposables.defer(() => bindings.release());
    context.readiness.addCheck("bindings", bindings.check);
  }
  keepKeys(context);
  const controllers = startControllers(context, handlers.backends);
  const singletons = startSingletons(context, peerServers, handlers.backends);
  followStarts(context, singletons);
  const leads = (): string[] => singletons.filter((each) => each.isLeading()).map(({ name }) => name);
  startReplicaReporter(context, handlers, leads);
  return {
    idle: async () => void (await Promise.all([controllers?.idle(), ...singletons.map((each) => each.idle())])),
    leads,
    elections: singletons,
  };
}

/** Logs of pods, those of other clusters, and those for the hub of this one. */
async function startTelemetryOperations(
  context: PlatformContext,
  peerServers: PeerServers | undefined,
  handlers: RequestHandlers,
): Promise<void> {
  const { operations } = context.options;
  if (operations.includes("logs")) await startLogsOperation(context, peerServers);
  if (!peerServers) return;
  if (context.clusters) startClusterRelay(context, context.clusters, peerServers.secret);
  if (operations.includes("hub-logs")) handlers.hubLogs = startHubLogs(context, peerServers.secret);
}

/** Where clients reach the SSH proxy: that of this process, else another's; undefined where there is none. */
async function startSSH(context: PlatformContext): Promise<string | undefined> {
  const { operations, ssh = {} } = context.options;
  if (!operations.includes("ssh-proxy")) return ssh.address;
  const at = ssh.listen ?? { host: "127.0.0.1", port: 0 };
  // Its library is loaded by processes that need it.
  const { startSSHOperation } = await import("./ssh/start-ssh.ts");
  const port = await startSSHOperation(context, at);
  return ssh.address ?? `${at.host}:${port}`;
}

function keepKeys({ client, log, options, readiness, disposables }: PlatformContext): void {
  const abort = new AbortController();
  disposables.defer(() => abort.abort());
  const { operations } = options;
  readiness.addCheck("keys", keepInstallationKeys({ client, operations, signal: abort.signal, log }));
}

/** Refuses new requests, answers open ones, then stops controllers and backends, Leases, and the connection. */
async function stop(
  { options, readiness, disposables, shutdownMode }: PlatformContext,
  server: HttpServer,
  instances: ShutdownMode["instances"],
): Promise<void> {
  const { graceMs = 0, drainMs = DEFAULT_DRAIN_MS } = options.shutdown ?? {};
  shutdownMode.instances = instances;
  readiness.close("shutting down");
  server.startDraining();
  if (graceMs > 0) await delay(graceMs);
  await server.close(drainMs);
  await disposables.disposeAsync();
}

/** `kubectl get replicas` shows what this process does and which watches are parked. */
function startReplicaReporter(
  { client, membership, informers, readiness, options, log, disposables, policies }: PlatformContext,
  handlers: RequestHandlers,
  leads: () => string[],
): void {
  const abort = new AbortController();
  const stopped = reportReplica({
    client,
    membership,
    operations: options.operations,
    observe: () => ({
      health: presentHealth(readiness, handlers),
      leads: leads(),
      watches: informers.status(),
      policies: policies?.live.report(),
    }),
    events: createEventRecorder({ client, log, signal: abort.signal }),
    signal: abort.signal,
    log,
  });
  disposables.defer(() => {
    abort.abort();
    return stopped;
  });
}
