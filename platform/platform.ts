// Starts the operations of one process: its client and watches, controllers, backends, API and the port they share.
import { join } from "node:path";
import type { Logger } from "pino";
import { createDirectoryStore } from "../blobs/directory/directory.ts";
import type { BlobStore } from "../blobs/store.ts";
import { createClient, type ClusterAccess } from "../kube/client/create-client.ts";
import type { KubeClient, RequestRecord } from "../kube/client/client.ts";
import { defined } from "../kube/defined.ts";
import { runControllers, type ControllerRun } from "../kube/run-controllers.ts";
import type { ReflectorTiming } from "../kube/reflector.ts";
import { createWatches, type Watches } from "../kube/watches.ts";
import { API_MANAGER } from "../crds/groups.ts";
import { createTelemetry, startTelemetryServer } from "../telemetry/telemetry.ts";
import { keepUpdatedAt } from "../api/lib/times.ts";
import { createApi, type Api } from "../api/server.ts";
import { createControllers } from "../controllers/controllers.ts";
import { hasTelemetry, makeBackends, translators, type Backend } from "./backends.ts";
import { openFrontDoor, type Tls } from "./front-door.ts";
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
  /** Other times than the usual ones, in code only: for tests that cannot wait for minutes. */
  watchTiming?: Partial<ReflectorTiming>;
}

export interface RunningPlatform {
  url: string;
  ready(): boolean;
  /** Resolves when no controller has work in hand. */
  idle(): Promise<void>;
  stop(options: { instances: "keep" | "end" }): Promise<void>;
}

const READY_DEADLINE_MS = 60_000;

/** Starts, and waits until everything that was there is ingested. @throws Error when the port is taken or the cluster does not answer in 60 s; nothing is left behind then */
export async function startPlatform(options: PlatformOptions): Promise<RunningPlatform> {
  const ends = new AsyncDisposableStack();
  const fate: Fate = { instances: "keep" };
  try {
    return await start(options, ends, fate);
  } catch (error) {
    await ends.disposeAsync();
    throw error;
  }
}

/** What becomes of the instances when this process ends: said at the stop. */
interface Fate {
  instances: "keep" | "end";
}

/** Whatever is started is put on `ends`, so that it ends in reverse: no new requests, then what is in hand, then the connection. */
async function start(options: PlatformOptions, ends: AsyncDisposableStack, fate: Fate): Promise<RunningPlatform> {
  const { access, operations, log, onRequest } = options;
  const client = createClient({ ...access, fieldManager: API_MANAGER, userAgent: "cupola", ...defined({ onRequest }) });
  ends.defer(() => client.close());
  const watches = createWatches({ client, log, transform: keepUpdatedAt, ...defined({ timing: options.watchTiming }) });
  ends.defer(() => watches.close());
  const blobs = await createDirectoryStore(join(options.data, "blobs"));
  const parts: Parts = { ...options, client, watches, blobs, ends, fate };
  const backends = hasTelemetry(operations) ? await startBackends(parts) : [];
  const api = operations.includes("api") ? startApi(parts) : undefined;
  const isReady = (): boolean => (api?.ready() ?? true) && backends.every((backend) => backend.ready?.() ?? true);
  const apps = backends.find((backend) => backend.apps)?.apps;
  const door = await openFrontDoor({ ...options.listen, ready: isReady, ...defined({ api: api?.handler, apps }) });
  const controllers = startControllers(parts, backends, options.publicURL ?? door.url);
  ends.defer(() => door.close());
  await untilReady(api, controllers);
  return {
    url: door.url,
    ready: isReady,
    idle: () => controllers?.idle() ?? Promise.resolve(),
    stop: ({ instances }) => {
      fate.instances = instances;
      return ends.disposeAsync();
    },
  };
}

/** What every operation of the process shares. */
type Parts = PlatformOptions & { client: KubeClient; watches: Watches; blobs: BlobStore; ends: AsyncDisposableStack; fate: Fate };

function startApi({ client, watches, blobs, log, publicURL }: Parts): Api {
  return createApi({ client, watches, blobs, log, telemetry: createTelemetryClient(watches, log), ...defined({ url: publicURL }) });
}

/** The platform's own controllers, where this process has them, and its backends'; undefined when there are none. */
function startControllers({ client, watches, blobs, log, operations, ends }: Parts, backends: readonly Backend[], apiURL: string): ControllerRun | undefined {
  const own = operations.includes("controllers") ? createControllers({ apiURL, hasContent: (space, digest) => blobs.has(space, digest) }) : [];
  const controllers = [...own, ...translators(operations), ...backends.flatMap((backend) => backend.controllers)];
  if (controllers.length === 0) return undefined;
  const halt = new AbortController();
  const run = runControllers({ client, controllers, watches, platform: PLATFORM, signal: halt.signal, log });
  ends.defer(() => {
    halt.abort();
    return run.stopped;
  });
  return run;
}

async function startBackends({ client, watches, blobs, data, log, operations, ends, fate }: Parts): Promise<Backend[]> {
  const { token, secretRef } = await ensureTelemetryToken(client);
  const telemetry = createTelemetry({ onError: (err) => log.error({ err }, "instance stats") });
  const server = await startTelemetryServer({ telemetry, token });
  ends.defer(() => server.close());
  const backends = makeBackends(operations, { client, watches, telemetry, blobs, data, log, endpoint: { url: server.url, secretRef } });
  for (const backend of backends) {
    ends.defer(() => backend.stop(fate.instances));
    await backend.start();
  }
  return backends;
}

async function untilReady(api: Api | undefined, controllers: ControllerRun | undefined): Promise<void> {
  const late = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error(`the cluster did not show all it holds within ${READY_DEADLINE_MS / 1000} s; does this identity have the rights of deploy/rbac?`)), READY_DEADLINE_MS).unref();
  });
  await Promise.race([Promise.all([api?.waitReady(READY_DEADLINE_MS), controllers?.synced]), late]);
}
