// Catalogs that this leader has fetched: of a broker's generation and credentials once, and again with back-off after a failure.
// No reconcile waits for a broker, so that silent ones delay nobody.
import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import type { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { NotReady } from "../../kube/controller/controller.ts";
import type { ObjectKey } from "../../kube/api/object.ts";
import type { BrokerPace } from "../shared/osb/broker-pace.ts";
import type { Catalog } from "../shared/osb/catalog.ts";
import { readBrokerAccess } from "../shared/osb/find-broker.ts";
import { fetchCatalog } from "./fetch-catalog.ts";

type Outcome =
  { kind: "fetched"; catalog: Catalog; at: Date; digest: string } | { kind: "failed"; reason: string; message: string };

interface Entry {
  generation: number | undefined;
  isUnderWay: boolean;
  outcome?: Outcome;
  /** When the outcome was last looked at, milliseconds since the epoch. */
  checkedAt: number;
  /** Failures one after the other. */
  failures: number;
}

/** What a reconcile has of the controller's context. */
export interface FetchContext {
  client: KubeClient;
  signal: AbortSignal;
  now: () => Date;
}

export interface Catalogs {
  /** The latest outcome, and the milliseconds until it is to be looked at again; undefined while the broker is asked: `enqueue` follows. */
  find(broker: ServiceBroker, context: FetchContext): { outcome: Outcome; againInMs: number } | undefined;
  /** A new term of this leader: another one may have fetched newer catalogs. */
  start(enqueue: (key: ObjectKey) => void): void;
  forget(broker: ServiceBroker): void;
}

/** No informer watches Secrets, so they are read again now and then. */
const CREDENTIALS_MS = 300_000;
const FIRST_RETRY_MS = 10_000;
const LAST_RETRY_MS = 600_000;
/** Milliseconds until a broker that has its share of requests already is looked at again. */
const BUSY_MS = 1_000;
/** Brokers asked at once. */
const CONCURRENCY = 32;

/** Milliseconds until the next attempt. */
export function retryDelayMs(failures: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** Math.max(failures - 1, 0), LAST_RETRY_MS);
}

export function createCatalogs(pace: BrokerPace, fetch: typeof fetchCatalog = fetchCatalog): Catalogs {
  return new CatalogMemory(pace, fetch);
}

class CatalogMemory implements Catalogs {
  readonly #pace: BrokerPace;
  readonly #fetch: typeof fetchCatalog;
  readonly #limit = pLimit(CONCURRENCY);
  #entries = new Map<string, Entry>();
  #enqueue: (key: ObjectKey) => void = () => undefined;

  constructor(pace: BrokerPace, fetch: typeof fetchCatalog) {
    this.#pace = pace;
    this.#fetch = fetch;
  }

  find(broker: ServiceBroker, context: FetchContext): { outcome: Outcome; againInMs: number } | undefined {
    const entry = this.#entryOf(broker);
    if (entry.isUnderWay) return undefined;
    const againInMs = entry.checkedAt + delayOf(entry) - context.now().getTime();
    if (entry.outcome && againInMs > 0) return { outcome: entry.outcome, againInMs };
    entry.isUnderWay = true;
    void this.#limit(() => this.#ask(broker, entry, context)).finally(() => {
      entry.isUnderWay = false;
      this.#enqueue(keyOf(broker));
    });
    return undefined;
  }

  start(enqueue: (key: ObjectKey) => void): void {
    this.#entries = new Map();
    this.#enqueue = enqueue;
  }

  forget({ metadata }: ServiceBroker): void {
    this.#entries.delete(metadata.uid ?? "");
  }

  #entryOf({ metadata: { uid = "", generation } }: ServiceBroker): Entry {
    const known = this.#entries.get(uid);
    if (known?.generation === generation && known) return known;
    const entry = { generation, isUnderWay: false, checkedAt: 0, failures: 0 };
    this.#entries.set(uid, entry);
    return entry;
  }

  async #ask(broker: ServiceBroker, entry: Entry, context: FetchContext): Promise<void> {
    try {
      const outcome = await this.#outcomeOf(broker, entry.outcome, context);
      entry.outcome = outcome;
      entry.failures = outcome.kind === "failed" ? entry.failures + 1 : 0;
    } catch (error) {
      // The term ended: nobody looks at the entry any more.
      if (context.signal.aborted) return;
      entry.outcome = toUnreadable(error);
      entry.failures += 1;
    } finally {
      entry.checkedAt = context.now().getTime();
    }
  }

  /** @throws the API server's errors */
  async #outcomeOf(broker: ServiceBroker, known: Outcome | undefined, context: FetchContext): Promise<Outcome> {
    const access = await readBrokerAccess(broker, context).catch(toRefused);
    if ("kind" in access) return access;
    const digest = hash("sha256", JSON.stringify(access));
    if (known?.kind === "fetched" && known.digest === digest) return known;
    const fetched = await this.#whenFree(broker, context, () => this.#fetch(access, context.signal));
    if ("catalog" in fetched) return { kind: "fetched", catalog: fetched.catalog, at: context.now(), digest };
    return { kind: "failed", ...fetched };
  }

  /** Each of its requests has a deadline, so this ends. */
  async #whenFree<T>({ metadata }: ServiceBroker, { signal }: FetchContext, call: () => Promise<T>): Promise<T> {
    for (;;) {
      const answer = await this.#pace.run(metadata.uid ?? "", async () => ({ value: await call() }));
      if (answer) return answer.value;
      await delay(BUSY_MS, undefined, { signal });
    }
  }
}

function keyOf({ metadata: { namespace = "", name } }: ServiceBroker): ObjectKey {
  return { namespace, name };
}

/** A Secret that is not there or not allowed. */
function toRefused(error: unknown): Outcome {
  if (error instanceof NotReady) return { kind: "failed", reason: error.reason, message: error.message };
  throw error;
}

function toUnreadable(error: unknown): Outcome {
  return {
    kind: "failed",
    reason: "CredentialsUnreadable",
    message: `the Secret with its credentials could not be read: ${error instanceof Error ? error.message : "no reason"}`,
  };
}

function delayOf({ outcome, failures }: Entry): number {
  return outcome?.kind === "fetched" ? CREDENTIALS_MS : retryDelayMs(failures);
}
