// Databases that the laptop runs on this machine: a broker for each ConfigMap with the label `cupola.dev/here`. The platform reaches it as it reaches any other broker.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { HERE_LABEL } from "../crds/cluster/local-cluster.ts";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { ConfigMap } from "../kube/api/builtin.ts";
import { createInformers } from "../kube/cache/informers.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isNotFound } from "../kube/client/errors.ts";
import { DATABASES, startDatabaseBroker, type Database, type RunningBroker } from "./database-broker.ts";
import type { Home } from "./home.ts";

export interface HereServicesOptions {
  home: Home;
  /** The platform's own cluster, as its administrator. */
  admin: KubeClient;
  log: Logger;
}

export interface HereServices {
  /** Ends their databases, too. */
  stop(): Promise<void>;
}

/** The data of a database's ConfigMap. */
interface HereService {
  /** Another value asks for another start, where the last one failed. */
  asked?: string;
  /** The request that `url` or `problem` answers. */
  answered?: string;
  url?: string;
  problem?: string;
}

const SYNC_DEADLINE_MS = 10_000;
/** How long the platform's start waits for databases, since apps need them at theirs. */
const READY_DEADLINE_MS = 20_000;
const RETRY_MS = 5_000;
const MAX_RETRY_MS = 60_000;

export function hereServiceName(database: Database): string {
  return `here-${database}`;
}

/** Starts those that are there, and from then on follows the ConfigMaps. */
export async function startHereServices({ home, admin, log }: HereServicesOptions): Promise<HereServices> {
  const informers = createInformers({ client: admin, log });
  const { store } = informers.ensure(ConfigMap, { namespace: SYSTEM_NAMESPACE, labelSelector: HERE_LABEL });
  const running = new Map<Database, KeptDatabase>();
  const settle = (): void => {
    for (const database of DATABASES) {
      const wanted = store.find({ namespace: SYSTEM_NAMESPACE, name: hereServiceName(database) });
      const kept = running.get(database);
      const asked = wanted?.data?.["asked"] ?? "";
      if (wanted && !kept) running.set(database, keepRunning({ home, admin, log }, database, asked));
      else if (wanted) kept?.ask(asked);
      else if (kept) {
        running.delete(database);
        void kept.stop();
      }
    }
  };
  const unsubscribe = store.onChange(settle);
  await store.waitSynced(SYNC_DEADLINE_MS);
  settle();
  const ready = Promise.all([...running.values()].map((kept) => kept.tried));
  await Promise.race([ready, delay(READY_DEADLINE_MS, undefined, { ref: false })]);
  return {
    async stop() {
      unsubscribe();
      await Promise.all([...running.values()].map((kept) => kept.stop()));
      await informers.close();
    },
  };
}

interface KeptDatabase {
  /** Resolves after the first start, or its failure. */
  tried: Promise<void>;
  /** Starts at once, when it waits after a failure. */
  ask(request: string): void;
  stop(): Promise<void>;
}

/** Starts it again after each end, later each time. */
function keepRunning({ home, admin, log }: HereServicesOptions, database: Database, first: string): KeptDatabase {
  const stopping = new AbortController();
  const { promise: tried, resolve: onTried } = Promise.withResolvers<void>();
  let asked = first;
  let broker: RunningBroker | undefined;
  let wake = new AbortController();
  const report = (answer: HereService): Promise<void> =>
    tell(admin, database, { ...answer, answered: asked }).catch((err: unknown) =>
      log.error({ err, database }, "database"),
    );
  const runOnce = async (): Promise<void> => {
    try {
      broker = await startDatabaseBroker(home, database, { log, signal: stopping.signal });
      await report({ url: broker.url });
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      log.error({ database, problem }, "a database of this machine could not start");
      await report({ problem });
    }
    onTried();
  };
  const run = async (): Promise<void> => {
    for (let pause = RETRY_MS; !stopping.signal.aborted; pause = Math.min(pause * 2, MAX_RETRY_MS)) {
      await runOnce();
      if (stopping.signal.aborted) break;
      if (broker) {
        await broker.ended;
        pause = RETRY_MS;
      }
      broker = undefined;
      const signal = AbortSignal.any([stopping.signal, wake.signal]);
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
    await broker?.stop();
  };
  const ended = run();
  return {
    tried,
    ask(request) {
      if (request === asked) return;
      asked = request;
      if (broker) void report({ url: broker.url });
      wake.abort();
      wake = new AbortController();
    },
    async stop() {
      stopping.abort();
      await broker?.stop();
      await ended;
    },
  };
}

/** Only where the ConfigMap still is: whoever deleted it does not get it back. */
async function tell(
  admin: KubeClient,
  database: Database,
  { answered = "", url, problem }: HereService,
): Promise<void> {
  const data = { answered, url: url ?? null, problem: problem ?? null };
  const key = { namespace: SYSTEM_NAMESPACE, name: hereServiceName(database) };
  try {
    await admin.patch(ConfigMap, key, { type: "merge", body: { data } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
