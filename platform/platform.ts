// Starts the operations of one process: its client and watches, controllers, backends, API and the port they share.
import { join } from "node:path";
import type { Logger } from "pino";
import { createDirectoryStore } from "../blobs/directory/directory.ts";
import type { BlobStore } from "../blobs/store.ts";
import { createClient, type ClusterAccess } from "../kube/client/create-client.ts";
import type { KubeClient, RequestRecord } from "../kube/client/client.ts";
import { defined } from "../kube/defined.ts";
import { runControllers, type ControllerRun } from "../kube/run-controllers.ts";
import { createWatches, type Watches } from "../kube/watches.ts";
import { API_MANAGER } from "../crds/groups.ts";
import { createTelemetry, startTelemetryServer, type TelemetryServer } from "../telemetry/telemetry.ts";
import { keepUpdatedAt } from "../api/lib/times.ts";
import { createApi, type Api } from "../api/server.ts";
import { createControllers } from "../controllers/controllers.ts";
import { hasTelemetry, makeBackends, translators, type Backend } from "./backends.ts";
import { openFrontDoor, type FrontDoor, type Tls } from "./front-door.ts";
import type { Operation } from "./operations.ts";
import { PLATFORM } from "./settings.ts";
import { createTelemetryClient, ensureTelemetryToken } from "./telemetry.ts";

export interface PlatformOptions {
  /** The Kubernetes API, with the platform's own identity. */
  access: ClusterAccess;
  operations: readonly Operation[];
  /** Folder for blobs and what backends keep. */
  data: string;
  listen: { host: string; port: number; tls?: Tls };
  /** The CF API's address as the world sees it. The one it listens at unless said. */
  publicURL?: string;
  log: Logger;
  /** Told of every request to the API server; for counting. */
  onRequest?: (record: RequestRecord) => void;
}

export interface RunningPlatform {
  url: string;
  ready(): boolean;
  /** Resolves when no controller has work in hand. */
  idle(): Promise<void>;
  stop(options: { instances: "keep" | "end" }): Promise<void>;
}

const READY_DEADLINE_MS = 60_000;

interface Running {
  client: KubeClient;
  watches: Watches;
  telemetry: TelemetryServer | undefined;
  backends: readonly Backend[];
  controllers: ControllerRun | undefined;
  halt: AbortController;
  api: Api | undefined;
  door: FrontDoor;
}

/** Starts, and waits until everything that was there is ingested. @throws Error when the port is taken or the cluster does not answer in 60 s */
export async function startPlatform(options: PlatformOptions): Promise<RunningPlatform> {
  const { access, operations, log, onRequest } = options;
  const client = createClient({ ...access, fieldManager: API_MANAGER, userAgent: "cupola", ...defined({ onRequest }) });
  const watches = createWatches({ client, log, transform: keepUpdatedAt });
  const blobs = await createDirectoryStore(join(options.data, "blobs"));
  const parts: Parts = { ...options, client, watches, blobs };
  const { telemetry, backends } = hasTelemetry(operations) ? await startBackends(parts) : { telemetry: undefined, backends: [] };
  const api = operations.includes("api") ? startApi(parts) : undefined;
  const isReady = (): boolean => (api?.ready() ?? true) && backends.every((backend) => backend.ready?.() ?? true);
  const apps = backends.find((backend) => backend.apps)?.apps;
  const door = await openFrontDoor({ ...options.listen, ready: isReady, ...defined({ api: api?.handler, apps }) });
  const halt = new AbortController();
  const controllers = startControllers(parts, backends, { apiURL: options.publicURL ?? door.url, signal: halt.signal });
  const running: Running = { client, watches, telemetry, backends, controllers, halt, api, door };
  try {
    await untilReady(running);
  } catch (error) {
    await stopAll(running, "keep");
    throw error;
  }
  return { url: door.url, ready: isReady, idle: () => controllers?.idle() ?? Promise.resolve(), stop: ({ instances }) => stopAll(running, instances) };
}

/** What every operation of the process shares. */
type Parts = PlatformOptions & { client: KubeClient; watches: Watches; blobs: BlobStore };

function startApi({ client, watches, blobs, log, publicURL }: Parts): Api {
  return createApi({ client, watches, blobs, log, telemetry: createTelemetryClient(watches, log), ...defined({ url: publicURL }) });
}

/** The platform's own controllers, where this process has them, and its backends'; undefined when there are none. */
function startControllers({ client, watches, blobs, log, operations }: Parts, backends: readonly Backend[], { apiURL, signal }: { apiURL: string; signal: AbortSignal }): ControllerRun | undefined {
  const own = operations.includes("controllers") ? createControllers({ apiURL, hasContent: (space, digest) => blobs.has(space, digest) }) : [];
  const controllers = [...own, ...translators(operations), ...backends.flatMap((backend) => backend.controllers)];
  return controllers.length > 0 ? runControllers({ client, controllers, watches, platform: PLATFORM, signal, log }) : undefined;
}

async function startBackends(parts: Parts): Promise<{ telemetry: TelemetryServer; backends: Backend[] }> {
  const { client, watches, blobs, data, log, operations } = parts;
  const { token, secretRef } = await ensureTelemetryToken(client);
  const telemetry = createTelemetry({ onError: (err) => log.error({ err }, "instance stats") });
  const server = await startTelemetryServer({ telemetry, token });
  const backends = makeBackends(operations, { client, watches, telemetry, blobs, data, log, endpoint: { url: server.url, secretRef } });
  for (const backend of backends) await backend.start();
  return { telemetry: server, backends };
}

async function untilReady({ api, controllers }: Running): Promise<void> {
  const late = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error(`the cluster did not show all it holds within ${READY_DEADLINE_MS / 1000} s; does this identity have the rights of deploy/rbac?`)), READY_DEADLINE_MS).unref();
  });
  const seen = Promise.all([api?.waitReady(READY_DEADLINE_MS), controllers?.synced]);
  await Promise.race([seen, late]);
}

/** Takes no new requests, finishes what is in hand, then lets go of the cluster. */
async function stopAll({ door, halt, controllers, backends, telemetry, watches, client }: Running, instances: "keep" | "end"): Promise<void> {
  await door.close();
  halt.abort();
  await controllers?.stopped;
  for (const backend of backends) await backend.stop(instances);
  await telemetry?.close();
  await watches.close();
  await client.close();
}
