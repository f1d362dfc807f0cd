// Databases that the laptop runs on this machine: a broker for each ConfigMap with the label `cupola.dev/here`. The platform reaches it as it reaches any other broker.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { HERE_LABEL } from "../crds/cluster/local-cluster.ts";
import { SYSTEM_NAMESPACE } from "../crds/groups.ts";
import { ConfigMap } from "../kube/api/builtin.ts";
import { createInformers } from "../kube/cache/informers.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isNotFound } from "../kube/client/errors.ts";
import { DATABASES, startDatabaseBroker, stopDatabase, type Database, type RunningBroker } from "./database-broker.ts";
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
      if (wanted && !kept) running.set(database, new KeptDatabase({ home, admin, log }, database, asked));
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

/** Keeps one running: starts it again after each end, later each time. */
class KeptDatabase {
  /** Resolves after the first start, or its failure. */
  readonly tried: Promise<void>;
  readonly #options: HereServicesOptions;
  readonly #database: Database;
  readonly #stopping = new AbortController();
  readonly #onTried: () => void;
  readonly #ended: Promise<void>;
  #asked: string;
  #broker: RunningBroker | undefined;
  #wake = new AbortController();

  constructor(options: HereServicesOptions, database: Database, asked: string) {
    this.#options = options;
    this.#database = database;
    this.#asked = asked;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.tried = promise;
    this.#onTried = resolve;
    this.#ended = this.#run();
  }

  /** Starts at once, when it waits after a failure. */
  ask(request: string): void {
    if (request === this.#asked) return;
    this.#asked = request;
    if (this.#broker) void this.#report({ url: this.#broker.url });
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#broker?.stop();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let pause = RETRY_MS; !signal.aborted; pause = Math.min(pause * 2, MAX_RETRY_MS)) {
      await this.#start();
      if (signal.aborted) break;
      if (this.#broker) {
        await this.#broker.ended;
        pause = RETRY_MS;
      }
      this.#broker = undefined;
      const woken = AbortSignal.any([signal, this.#wake.signal]);
      await delay(pause, undefined, { signal: woken }).catch(() => undefined);
    }
    // A broker that failed may have started its databases before.
    await (this.#broker ? this.#broker.stop() : stopDatabase(this.#options.home, this.#database));
  }

  async #start(): Promise<void> {
    const { home, log } = this.#options;
    const database = this.#database;
    try {
      this.#broker = await startDatabaseBroker(home, database, { log, signal: this.#stopping.signal });
      await this.#report({ url: this.#broker.url });
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (!this.#stopping.signal.aborted)
        log.error({ database, problem }, "a database of this machine could not start");
      await this.#report({ problem });
    }
    this.#onTried();
  }

  async #report(answer: HereService): Promise<void> {
    const { admin, log } = this.#options;
    try {
      await tell(admin, this.#database, { ...answer, answered: this.#asked });
    } catch (err) {
      log.error({ err, database: this.#database }, "the ConfigMap of a database could not be written");
    }
  }
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
