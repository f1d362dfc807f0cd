// Starts the operations of one process: its client and watches, its membership, controllers, backends, API and the port they share.
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { createDirectoryStore } from "../blobs/directory/directory-store.ts";
import { createClient, type ClusterAccess } from "../kube/client/create-client.ts";
import type { RequestRecord } from "../kube/client/client.ts";
import { omitUndefined } from "../kube/api/omit-undefined.ts";
import { createReadiness, type ReadinessReport } from "../kube/server/readiness.ts";
import type { ReflectorTiming } from "../kube/cache/reflector.ts";
import { createInformers } from "../kube/cache/informers.ts";
import { API_FIELD_MANAGER } from "../crds/groups.ts";
import { recordLastWrite } from "../api/cache/object-times.ts";
import type { TokenIssuerSettings } from "../api/identity/token-issuer.ts";
import type { AuthorizationMode } from "../api/access/access-reviewer.ts";
import { presentHealth, startPlatformServer } from "./http/platform-server.ts";
import type { HttpServer, TLSKeyPair } from "./http/http-server.ts";
import { checkDiskSpace } from "./disk-space.ts";
import { joinPeers, needsPeerServers, startPeerServers } from "./peers/start-peers.ts";
import { PLATFORM_NAMESPACES } from "./watch-namespaces.ts";
import type { Operation } from "./operations/operations.ts";
import type { RequestHandlers, ShutdownMode, PlatformContext } from "./platform-context.ts";
import { reportReplica } from "./leases/replica-reporter.ts";
import { startLogsOperation, startWebhookOperation, startApiOperation } from "./operations/start-services.ts";
import { waitUntilReady } from "./readiness.ts";
import type { WebhookListenOptions } from "./operations/name-webhook.ts";
import { startBackends, startControllers, startSingletons } from "./operations/start-controllers.ts";

export interface PlatformOptions {
  /** The Kubernetes API, with the platform's own identity. */
  access: ClusterAccess;
  operations: readonly Operation[];
  /** Folder for blobs and what backends keep. */
  data: string;
  listen: { host: string; port: number; tls?: TLSKeyPair };
  /** The CF API's address as the world sees it. The one it listens at unless said. Several replicas must be given the same. */
  publicURL?: string;
  /** Where the rights of the CF API's callers come from; `rbac` unless said. */
  authorization?: AuthorizationMode;
  /** An issuer of tokens that kube-apiserver does not trust. */
  tokenIssuer?: TokenIssuerSettings;
  /** Where other replicas reach this one; loopback unless said. */
  peerAddress?: string;
  /** Where the operation `webhook` listens; any port of loopback unless said. */
  webhook?: WebhookListenOptions;
  log: Logger;
  /** Gives up a start that is not through yet. */
  signal?: AbortSignal;
  /** Told of every request to the API server; for counting. */
  onRequest?: (record: RequestRecord) => void;
  /** Other times than the usual ones, in code only: for tests that cannot wait for minutes. */
  watchTiming?: Partial<ReflectorTiming>;
  /** A replica that was killed is taken for a living one so long; 15 unless said. */
  leaseSeconds?: number;
  /** Name under which this process leads. One that stays the same over restarts takes its own Leases back at once; for a process that surely is the only one of its name. */
  leaderIdentity?: string;
  /** At the stop, in milliseconds: how long it serves on, not ready any more, so that no new request is sent here (0); then how long requests may take to end (5000). */
  shutdown?: { graceMs?: number; drainMs?: number };
}

export interface RunningPlatform {
  url: string;
  ready(): boolean;
  /** As `/readyz` tells it. */
  health(): ReadinessReport;
  /** Resolves when no controller has work in hand. */
  idle(): Promise<void>;
  /** Operations whose elected part runs in this process now. */
  leads(): string[];
  /** Serves no more, finishes what is in hand, and leaves the replicas last. */
  stop(options: { instances: "keep" | "end" }): Promise<void>;
}

const DEFAULT_DRAIN_MS = 5_000;

/**
 * Starts, and waits until everything that was there is ingested. A cluster that does not answer or a right that is missing is waited for; `/readyz`
 * and the log say what it is. @throws Error when the port is taken or `signal` aborts; nothing is left behind then
 */
export async function startPlatform(options: PlatformOptions): Promise<RunningPlatform> {
  const disposables = new AsyncDisposableStack();
  try {
    return await start(options, disposables);
  } catch (error) {
    await disposables.disposeAsync();
    throw error;
  }
}

async function start(options: PlatformOptions, disposables: AsyncDisposableStack): Promise<RunningPlatform> {
  const { access, operations, log, onRequest, signal = new AbortController().signal } = options;
  const client = createClient({
    ...access,
    fieldManager: API_FIELD_MANAGER,
    userAgent: "cupola",
    ...omitUndefined({ onRequest }),
  });
  disposables.defer(() => client.close());
  const informers = createInformers({
    client,
    log,
    transform: recordLastWrite,
    namespaceScope: PLATFORM_NAMESPACES,
    ...omitUndefined({ timing: options.watchTiming }),
  });
  disposables.defer(() => informers.close());
  const blobs = await createDirectoryStore(join(options.data, "blobs"));
  const readiness = createReadiness();
  const progress = { started: false };
  readiness.addCheck("disk", () => checkDiskSpace(options.data));
  readiness.addCheck("start", () => progress.started || "not all parts have been started");
  const handlers: RequestHandlers = { backends: [] };
  const server = await startPlatformServer(options, readiness, handlers);
  disposables.defer(() => server.close());

  const shutdownMode: ShutdownMode = { instances: "keep" };
  const startupContext = {
    options,
    log,
    client,
    informers,
    blobs,
    readiness,
    disposables,
    signal,
    shutdownMode,
    apiURL: options.publicURL ?? server.url,
  };
  const peerServers = needsPeerServers(operations) ? await startPeerServers(startupContext) : undefined;
  const context: PlatformContext = {
    ...startupContext,
    membership: await joinPeers(startupContext, peerServers, handlers),
  };
  handlers.backends = await startBackends(context, peerServers);
  if (operations.includes("logs")) startLogsOperation(context, peerServers);
  if (operations.includes("webhook")) await startWebhookOperation(context);
  if (operations.includes("api") && peerServers) handlers.api = startApiOperation(context, peerServers);
  const controllers = startControllers(context, handlers.backends);
  const singletons = startSingletons(context, peerServers, handlers.backends);
  const leads = (): string[] => singletons.filter((each) => each.isLeading()).map(({ name }) => name);
  startReplicaReporter(context, handlers, leads);
  progress.started = true;
  await waitUntilReady(readiness, signal, log);
  return {
    url: server.url,
    ready: () => presentHealth(readiness, handlers).ready,
    health: () => presentHealth(readiness, handlers),
    idle: async () => void (await Promise.all([controllers?.idle(), ...singletons.map((each) => each.idle())])),
    leads,
    stop({ instances }) {
      handlers.api?.releaseHeld();
      return stop(context, server, instances);
    },
  };
}

/** No new requests, then what is in hand, then the work of controllers and backends, then the Leases, then the connection. */
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

/** `kubectl get replicas` tells what this process does and what it cannot see. */
function startReplicaReporter(
  { client, membership, informers, readiness, options, log, disposables }: PlatformContext,
  handlers: RequestHandlers,
  leads: () => string[],
): void {
  const abort = new AbortController();
  const stopped = reportReplica({
    client,
    membership,
    operations: options.operations,
    observe: () => ({ health: presentHealth(readiness, handlers), leads: leads(), watches: informers.status() }),
    signal: abort.signal,
    log,
  });
  disposables.defer(() => {
    abort.abort();
    return stopped;
  });
}
