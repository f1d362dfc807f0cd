// A replica of the controllers on a hub, with short times. The leader among them runs the singletons, too.
import { pino } from "pino";
import { createControllers } from "../../controllers/controllers.ts";
import { OPEN_GATE } from "../../controllers/shared/start-gate.ts";
import { createInformers } from "../../kube/cache/informers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { runControllers } from "../../kube/controller/run-controllers.ts";
import { startClusters } from "../../platform/operations/clusters.ts";
import { AGENT_SILENT_MS } from "./pull-spoke.ts";
import { CONTROLLER_SETTINGS } from "../../platform/operations/controller-settings.ts";

export interface Replica {
  idle(): Promise<void>;
  stop(): Promise<void>;
  /** Its connections break first, so that nothing that it has begun goes on. Does not wait for the rest of it. */
  kill(): Promise<void>;
}

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });

export interface ReplicaOptions {
  leads: boolean;
  /** False for one that may not see all that it needs. */
  awaitsSync?: boolean;
}

const WATCH_TIMING = {
  backoff: { minMs: 50, maxMs: 500, jitter: 1 },
  parked: { minMs: 100, maxMs: 500, jitter: 1 },
};

const TIMING = {
  attemptMs: 2_000,
  retry: { minMs: 100, maxMs: 500, jitter: 0.5 },
  probeMs: 300,
  probeDeadlineMs: 2_000,
};

export async function startReplica(
  connect: () => KubeClient,
  { leads, awaitsSync = true }: ReplicaOptions,
): Promise<Replica> {
  const client = connect();
  const informers = createInformers({ client, log, timing: WATCH_TIMING });
  const disposables = new AsyncDisposableStack();
  const clusters = startClusters({ client, informers, log, disposables, timing: TIMING, silentMs: AGENT_SILENT_MS });
  const stopping = new AbortController();
  const controllers = createControllers({
    apiURL: "http://api.example",
    startGate: OPEN_GATE,
    hasContent: () => Promise.resolve(true),
    clusters,
  }).filter(({ kind }) => leads || kind !== "singleton");
  const running = runControllers({
    client,
    controllers,
    informers,
    ownership: CONTROLLER_SETTINGS,
    remote: clusters,
    signal: stopping.signal,
    log,
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running.stopped;
    await disposables.disposeAsync();
    await informers.close();
    await client.close();
  };
  if (awaitsSync) await running.synced;
  return {
    idle: () => running.idle(),
    stop,
    async kill() {
      await client.close();
      stop().catch(() => undefined);
    },
  };
}
