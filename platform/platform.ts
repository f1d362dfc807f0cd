// Starts the operations of one process: its client and watches, its membership, controllers, backends, API and the port they share.
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { createDirectoryStore } from "../blobs/directory/directory-store.ts";
import { createClient, type ClusterAccess } from "../kube/client/create-client.ts";
import type { RequestRecord } from "../kube/client/client.ts";
import { defined } from "../kube/api/omit-undefined.ts";
import { createReadiness, type ReadinessReport } from "../kube/server/readiness.ts";
import type { ReflectorTiming } from "../kube/cache/reflector.ts";
import { createWatches } from "../kube/cache/informers.ts";
import { API_MANAGER } from "../crds/groups.ts";
import { keepUpdatedAt } from "../api/cache/object-times.ts";
import type { TokenIssuerSettings } from "../api/identity/token-issuer.ts";
import type { AuthorizationMode } from "../api/access/access-reviewer.ts";
import { healthOf, openDoor } from "./http/platform-server.ts";
import type { FrontDoor, Tls } from "./http/http-server.ts";
import { joinOthers, needsToken, startSide } from "./peers/start-peers.ts";
import { OUR_NAMESPACES } from "./watch-namespaces.ts";
import type { Operation } from "./operations/operations.ts";
import type { Doors, Fate, Parts } from "./platform-context.ts";
import { showReplica } from "./leases/replica-reporter.ts";
import { keepLogs, openWebhook, startApi } from "./operations/start-services.ts";
import { untilReady } from "./readiness.ts";
import type { WebhookListen } from "./operations/name-webhook.ts";
import { startBackends, startControllers, startPosts } from "./operations/start-controllers.ts";

export interface PlatformOptions {
  /** The Kubernetes API, with the platform's own identity. */
  access: ClusterAccess;
  operations: readonly Operation[];
  /** Folder for blobs and what backends keep. */
  data: string;
  listen: { host: string; port: number; tls?: Tls };
  /** The CF API's address as the world sees it. The one it listens at unless said. Several replicas must be given the same. */
  publicURL?: string;
  /** Where the rights of the CF API's callers come from; `rbac` unless said. */
  authorization?: AuthorizationMode;
  /** An issuer of tokens that kube-apiserver does not trust. */
  tokenIssuer?: TokenIssuerSettings;
  /** Where other replicas reach this one; loopback unless said. */
  peerAddress?: string;
  /** Where the operation `webhook` listens; any port of loopback unless said. */
  webhook?: WebhookListen;
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
  leader?: string;
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

const DRAIN_MS = 5_000;

/**
 * Starts, and waits until everything that was there is ingested. A cluster that does not answer or a right that is missing is waited for; `/readyz`
 * and the log say what it is. @throws Error when the port is taken or `signal` aborts; nothing is left behind then
 */
export async function startPlatform(options: PlatformOptions): Promise<RunningPlatform> {
  const ends = new AsyncDisposableStack();
  try {
    return await start(options, ends);
  } catch (error) {
    await ends.disposeAsync();
    throw error;
  }
}

async function start(options: PlatformOptions, ends: AsyncDisposableStack): Promise<RunningPlatform> {
  const { access, operations, log, onRequest, signal = new AbortController().signal } = options;
  const client = createClient({ ...access, fieldManager: API_MANAGER, userAgent: "cupola", ...defined({ onRequest }) });
  ends.defer(() => client.close());
  const watches = createWatches({ client, log, transform: keepUpdatedAt, split: OUR_NAMESPACES, ...defined({ timing: options.watchTiming }) });
  ends.defer(() => watches.close());
  const blobs = await createDirectoryStore(join(options.data, "blobs"));
  const readiness = createReadiness();
  const progress = { started: false };
  readiness.expect("start", () => progress.started || "not all parts have been started");
  const doors: Doors = { backends: [] };
  const door = await openDoor(options, readiness, doors);
  ends.defer(() => door.close());

  const fate: Fate = { instances: "keep" };
  const early = { options, log, client, watches, blobs, readiness, ends, signal, fate, apiURL: options.publicURL ?? door.url };
  const side = needsToken(operations) ? await startSide(early) : undefined;
  const parts: Parts = { ...early, membership: await joinOthers(early, side, doors) };
  doors.backends = await startBackends(parts, side);
  if (operations.includes("logs")) keepLogs(parts, side);
  if (operations.includes("webhook")) await openWebhook(parts);
  if (operations.includes("api") && side) doors.api = startApi(parts, side);
  const controllers = startControllers(parts, doors.backends);
  const elected = startPosts(parts, side, doors.backends);
  const leads = (): string[] => elected.filter((each) => each.leading()).map(({ name }) => name);
  show(parts, doors, leads);
  progress.started = true;
  await untilReady(readiness, signal, log);
  return {
    url: door.url,
    ready: () => healthOf(readiness, doors).ready,
    health: () => healthOf(readiness, doors),
    idle: async () => void (await Promise.all([controllers?.idle(), ...elected.map((each) => each.idle())])),
    leads,
    stop: ({ instances }) => stop(parts, door, instances),
  };
}

/** No new requests, then what is in hand, then the work of controllers and backends, then the Leases, then the connection. */
async function stop({ options, readiness, ends, fate }: Parts, door: FrontDoor, instances: Fate["instances"]): Promise<void> {
  const { graceMs = 0, drainMs = DRAIN_MS } = options.shutdown ?? {};
  fate.instances = instances;
  readiness.close("shutting down");
  door.retire();
  if (graceMs > 0) await delay(graceMs);
  await door.close(drainMs);
  await ends.disposeAsync();
}

/** `kubectl get replicas` tells what this process does and what it cannot see. */
function show({ client, membership, watches, readiness, options, log, ends }: Parts, doors: Doors, leads: () => string[]): void {
  const halt = new AbortController();
  const over = showReplica({ client, membership, operations: options.operations, look: () => ({ health: healthOf(readiness, doors), leads: leads(), watches: watches.status() }), signal: halt.signal, log });
  ends.defer(() => {
    halt.abort();
    return over;
  });
}
