// Starts the operations of one process: its client and watches, its membership, controllers, backends, API and the port they share.
import type { RequestListener } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { createDirectoryStore } from "../blobs/directory/directory.ts";
import type { BlobStore } from "../blobs/store.ts";
import { createClient, type ClusterAccess } from "../kube/client/create-client.ts";
import type { KubeClient, RequestRecord } from "../kube/client/client.ts";
import { defined } from "../kube/defined.ts";
import type { Elected } from "../kube/elected.ts";
import type { Membership } from "../kube/membership.ts";
import { createReadiness, type Readiness, type ReadinessReport } from "../kube/readiness.ts";
import { runControllers, type ControllerRun } from "../kube/run-controllers.ts";
import type { ReflectorTiming } from "../kube/reflector.ts";
import { createWatches, type Watches } from "../kube/watches.ts";
import { API_MANAGER } from "../crds/groups.ts";
import { keepUpdatedAt } from "../api/lib/times.ts";
import type { TokenIssuerSettings } from "../api/identity/token-issuer.ts";
import type { AuthorizationMode } from "../api/reviews.ts";
import { createApi, type Api } from "../api/server.ts";
import { createControllers } from "../controllers/controllers.ts";
import { addressToken } from "./address-token.ts";
import { backendsOf, hasTelemetry, translators, type Backend } from "./backends.ts";
import { blobRemoval } from "./blob-removal.ts";
import { openFrontDoor, type FrontDoor, type Tls } from "./front-door.ts";
import { startLogs, telemetryAddresses } from "./logs.ts";
import { OUR_NAMESPACES } from "./namespaces.ts";
import { postOf, runPosts, type Post } from "./offices.ts";
import type { Operation } from "./operations.ts";
import { peerAnnotations, peerDirectory, startPeerServer, type PeerServer } from "./peers.ts";
import { showReplica } from "./replica-object.ts";
import { joinReplicas, leaseTiming, newIdentity, seenMembers } from "./replica.ts";
import { PLATFORM } from "./settings.ts";
import { createTelemetryClient, ensureTelemetrySecret, startTelemetry, telemetryAnnotations, type TelemetrySide } from "./telemetry.ts";
import { describeGaps, judgeGaps, untilDone, untilReady } from "./waiting.ts";
import { startWebhook, WEBHOOK_LISTEN, type WebhookListen } from "./webhook.ts";

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

/** What becomes of the instances when this process ends: said at the stop. */
interface Fate {
  instances: "keep" | "end";
}

/** What every operation of the process shares. Whatever is started is put on `ends`, so that it ends in reverse. */
interface Parts {
  options: PlatformOptions;
  log: Logger;
  client: KubeClient;
  watches: Watches;
  blobs: BlobStore;
  readiness: Readiness;
  membership: Membership;
  ends: AsyncDisposableStack;
  fate: Fate;
  signal: AbortSignal;
  apiURL: string;
}

/** What answers at the front door, as soon as it is there. */
interface Doors {
  api?: Api;
  backends: readonly Backend[];
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

/** A replica that must not answer since it lacks what the others have written is not ready, other than one that lacks a right. */
function healthOf(readiness: Readiness, { api }: Doors): ReadinessReport {
  const report = readiness.check();
  if (!report.ready || !api || api.replicas.ready()) return report;
  return { ...report, ready: false, pending: [{ name: "api", reason: "has not seen yet what other replicas have written" }] };
}

/** Opened first of all, so that it can be asked what the rest waits for. */
function openDoor({ listen, operations }: PlatformOptions, readiness: Readiness, doors: Doors): Promise<FrontDoor> {
  const router = (): Backend["apps"] => doors.backends.find((backend) => backend.apps)?.apps;
  const later: RequestListener = (_request, response) => void response.writeHead(503, { "retry-after": "1" }).end();
  return openFrontDoor({
    ...listen,
    health: () => healthOf(readiness, doors),
    ...(operations.includes("api") && { api: (request, response) => (doors.api?.handler ?? later)(request, response) }),
    ...(operations.includes("local-router") && {
      apps: {
        request: (request, response) => (router()?.request ?? later)(request, response),
        upgrade: (request, socket, head) => (router()?.upgrade ?? ((_request: unknown, given: Duplex) => void given.destroy()))(request, socket, head),
      },
    }),
  });
}

function needsToken(operations: readonly Operation[]): boolean {
  return operations.includes("api") || hasTelemetry(operations);
}

/** Where other processes of the platform read from this one. */
interface Side extends TelemetrySide {
  peers?: PeerServer;
}

type Early = Omit<Parts, "membership">;

async function startSide({ client, readiness, signal, log, options, ends }: Early): Promise<Side> {
  const { secret, secretRef } = await untilDone("token", () => ensureTelemetrySecret(client), { readiness, signal, log });
  const address = options.peerAddress ?? "127.0.0.1";
  const telemetry = hasTelemetry(options.operations) ? await startTelemetry({ secret, secretRef, address, log }) : { secret, secretRef };
  ends.defer(async () => telemetry.server?.close());
  const peers = options.operations.includes("api") ? await startPeerServer(address, (url) => addressToken(secret, "replicas", url)) : undefined;
  ends.defer(async () => peers?.close());
  return { ...telemetry, ...defined({ peers }) };
}

/** The Lease stands before anything is listed: whoever counts the replicas from then on counts this one. */
async function joinOthers({ client, watches, readiness, signal, log, options, ends }: Early, side: Side | undefined, doors: Doors): Promise<Membership> {
  const membership = joinReplicas({
    client, watches, log, operations: options.operations, identity: newIdentity(), timing: leaseTiming(options.leaseSeconds).member,
    annotations: { ...(side?.server && telemetryAnnotations(side.server)), ...(side?.peers && peerAnnotations(side.peers)) },
    onRejoined: async () => doors.api?.replicas.meet(),
  });
  ends.defer(() => membership.leave());
  readiness.expect("replicas", () => membership.problem() ?? true);
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  signal.addEventListener("abort", () => aborted.reject(signal.reason), { once: true });
  await Promise.race([membership.joined, aborted.promise]);
  return membership;
}

function startApi({ client, watches, blobs, log, options, membership, readiness, ends }: Parts, side: Side): Api {
  const telemetry = createTelemetryClient({ watches, log, addresses: (source) => telemetryAddresses(seenMembers(membership), source), members: () => seenMembers(membership) });
  const peers = side.peers && { directory: peerDirectory(membership, side.peers), tokenFor: (url: string) => addressToken(side.secret, "replicas", url) };
  const api = createApi({ client, watches, blobs, log, telemetry, ...defined({ url: options.publicURL, authorization: options.authorization, tokenIssuer: options.tokenIssuer, peers }) });
  const over = new AbortController();
  ends.defer(() => {
    over.abort();
    return api.replicas.close();
  });
  side.peers?.serve(api.replicas.handler);
  void meetWhenListed(api, over.signal);
  readiness.expect("api", () => api.ready() || describeGaps(watches.status().filter(({ synced }) => !synced)) || "the other replicas have not been met yet");
  return api;
}

const LISTED_MS = 1_000;

/** What the others have written counts from what is held here, so that is listed first. */
async function meetWhenListed(api: Api, signal: AbortSignal): Promise<void> {
  let listed = false;
  while (!listed && !signal.aborted) listed = await api.waitReady(LISTED_MS);
  if (!signal.aborted) await api.replicas.meet();
}

/** The backends that every replica runs at once. */
async function startBackends(parts: Parts, side: Side | undefined): Promise<Backend[]> {
  const { options, readiness, ends, fate } = parts;
  const backends = backendsOf(options.operations).filter(({ elected }) => !elected);
  return Promise.all(
    backends.map(async ({ operation, make }) => {
      const backend = make({ ...backendDeps(parts, side), client: parts.client, holds: () => true });
      ends.defer(() => backend.stop(fate.instances));
      await backend.start();
      readiness.expect(operation, () => (backend.ready?.() ?? true) || "what it serves has not been listed yet");
      return backend;
    }),
  );
}

function backendDeps({ watches, blobs, options, log }: Parts, side: Side | undefined): Omit<Parameters<ReturnType<typeof backendsOf>[number]["make"]>[0], "client" | "holds"> {
  if (!side?.telemetry || !side.server) throw new Error("a backend needs the telemetry side of its process");
  return { watches, telemetry: side.telemetry, blobs, data: options.data, log, endpoint: { url: side.server.url, secretRef: side.secretRef } };
}

async function openWebhook({ client, watches, readiness, options, log, ends }: Parts): Promise<void> {
  const webhook = await startWebhook({ client, watches, log, listen: options.webhook ?? WEBHOOK_LISTEN });
  ends.defer(() => webhook.stop());
  readiness.expect("webhook", () => webhook.answer());
}

function keepLogs({ client, watches, membership, readiness, log, ends }: Parts, side: Side | undefined): void {
  if (!side?.telemetry) throw new Error("logs need the telemetry side of their process");
  const logs = startLogs({ client, watches, membership, ring: side.telemetry.ring, log });
  ends.defer(() => logs.stop());
  readiness.expect("logs", () => logs.answer());
}

/** The controllers that every replica runs at once; undefined when there are none. */
function startControllers({ client, watches, blobs, log, options, ends, readiness, apiURL }: Parts, backends: readonly Backend[]): ControllerRun | undefined {
  const own = options.operations.includes("controllers") ? createControllers({ apiURL, hasContent: (space, digest) => blobs.has(space, digest) }) : [];
  const controllers = [...own, ...translators(options.operations), ...backends.flatMap((backend) => backend.controllers)].filter(({ kind }) => kind !== "singleton");
  if (controllers.length === 0) return undefined;
  const halt = new AbortController();
  const run = runControllers({ client, controllers, watches, platform: PLATFORM, signal: halt.signal, log });
  ends.defer(() => {
    halt.abort();
    return run.stopped;
  });
  readiness.expect("controllers", () => judgeGaps(run.waiting().flatMap((each) => each.watches)));
  return run;
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

/** What one replica does for all. */
function startPosts(parts: Parts, side: Side | undefined, backends: readonly Backend[]): Elected[] {
  const { client, watches, log, options, ends, readiness, membership } = parts;
  const posts = [...backendPosts(parts, side), ...controllerPosts(parts, backends)];
  const halt = new AbortController();
  const identity = options.leader ?? membership.identity;
  const elected = runPosts(posts, { client, watches, identity, timing: leaseTiming(options.leaseSeconds).leader, signal: halt.signal, log });
  ends.defer(async () => {
    halt.abort();
    await Promise.all(elected.map((each) => each.stopped));
  });
  for (const each of elected) readiness.expect(each.name, () => judgeGaps(each.waiting()));
  return elected;
}

function backendPosts(parts: Parts, side: Side | undefined): Post[] {
  return backendsOf(parts.options.operations).flatMap(({ operation, make, elected }) => {
    if (!elected) return [];
    const open: Post["open"] = (term, client) => {
      const backend = make({ ...backendDeps(parts, side), client, holds: () => term.holds() });
      return { controllers: backend.controllers, start: () => backend.start(), stop: () => backend.stop(parts.fate.instances) };
    };
    return [{ operation, warm: elected, open }];
  });
}

function controllerPosts({ blobs, watches, log, options }: Parts, backends: readonly Backend[]): Post[] {
  const { operations } = options;
  const removal = operations.includes("controllers") ? postOf("controllers", [], [blobRemoval({ blobs, read: watches.read, log })]) : undefined;
  const routers = operations.includes("local-router") ? postOf("local-router", backends.flatMap(({ controllers }) => controllers)) : undefined;
  return [removal, routers].filter((post) => post !== undefined);
}
