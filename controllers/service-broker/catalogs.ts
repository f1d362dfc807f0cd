// Catalogs that this leader has fetched: of a broker's generation and credentials once, and again with back-off after a failure.
// No reconcile waits for a broker, so that silent ones delay nobody. A new leader goes on where the status says that the last one was.
import { hash } from "node:crypto";
import type { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { NotReady } from "../../kube/controller/controller.ts";
import type { ObjectKey } from "../../kube/api/object.ts";
import { toPacedBroker, type BrokerPace } from "../shared/osb/broker-pace.ts";
import type { Catalog } from "../shared/osb/catalog.ts";
import { readBrokerAccess } from "../shared/osb/find-broker.ts";
import { fetchCatalog } from "./fetch-catalog.ts";

export type Outcome =
  | { kind: "fetched"; catalog: Catalog; at: Date; digest: string }
  /** An earlier leader fetched it, and all of it is there. */
  | { kind: "kept"; digest: string | undefined }
  | { kind: "failed"; reason: string; message: string };

interface Entry {
  generation: number | undefined;
  isUnderWay: boolean;
  outcome?: Outcome;
  /** When the outcome was last looked at, milliseconds since the epoch. */
  checkedAt: number;
  /** Failures one after the other. */
  failures: number;
}

/** Parts of the controller's context that a reconcile needs. */
export interface FetchContext {
  client: KubeClient;
  read: Reader;
  signal: AbortSignal;
  now: () => Date;
}

/** The latest outcome; without one, the broker is being asked, or others of its tenant are. */
export interface Found {
  outcome?: Outcome;
  /** Failures one after the other, and when the last one was. */
  failures?: { count: number; at: Date };
  /** Milliseconds until it is to be looked at again; undefined while the broker is asked: `enqueue` follows. */
  againInMs?: number;
}

export interface Catalogs {
  /** @param isWhole whether the cluster has all of the catalog that the status names, so that it need not be fetched */
  find(broker: ServiceBroker, context: FetchContext, isWhole: () => boolean): Found;
  /** A new term of this leader: another one may have fetched newer catalogs. */
  start(enqueue: (key: ObjectKey) => void): void;
  forget(broker: ServiceBroker): void;
}

/** No informer watches Secrets, so they are read again now and then. */
const CREDENTIALS_MS = 300_000;
const FIRST_RETRY_MS = 10_000;
const LAST_RETRY_MS = 600_000;
/** Milliseconds until a broker that has no place among the requests under way is looked at again. */
const BUSY_MS = 1_000;

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
  #entries = new Map<string, Entry>();
  #enqueue: (key: ObjectKey) => void = () => undefined;

  constructor(pace: BrokerPace, fetch: typeof fetchCatalog) {
    this.#pace = pace;
    this.#fetch = fetch;
  }

  find(broker: ServiceBroker, context: FetchContext, isWhole: () => boolean): Found {
    const entry = this.#entryOf(broker, isWhole);
    if (entry.isUnderWay) return {};
    if (entry.outcome?.kind === "kept" && !isWhole()) delete entry.outcome;
    const againInMs = entry.checkedAt + delayOf(entry) - context.now().getTime();
    if (entry.outcome && againInMs > 0)
      return {
        outcome: entry.outcome,
        againInMs,
        failures: { count: entry.failures, at: new Date(entry.checkedAt) },
      };
    const giveBack = this.#pace.take(toPacedBroker(broker, context.read));
    if (!giveBack) return { againInMs: BUSY_MS };
    entry.isUnderWay = true;
    void this.#ask(broker, entry, context).finally(() => {
      giveBack();
      entry.isUnderWay = false;
      this.#enqueue(keyOf(broker));
    });
    return {};
  }

  start(enqueue: (key: ObjectKey) => void): void {
    this.#entries = new Map();
    this.#enqueue = enqueue;
  }

  forget({ metadata }: ServiceBroker): void {
    this.#entries.delete(metadata.uid ?? "");
  }

  #entryOf(broker: ServiceBroker, isWhole: () => boolean): Entry {
    const { uid = "", generation } = broker.metadata;
    const known = this.#entries.get(uid);
    if (known?.generation === generation && known) return known;
    const entry: Entry = { generation, isUnderWay: false, checkedAt: 0, failures: 0, ...recall(broker, isWhole) };
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
    if (known?.kind === "kept" && known.digest === undefined) return { kind: "kept", digest };
    if (known && known.kind !== "failed" && known.digest === digest) return known;
    const fetched = await this.#fetch(access, context.signal);
    if ("catalog" in fetched) return { kind: "fetched", catalog: fetched.catalog, at: context.now(), digest };
    return { kind: "failed", ...fetched };
  }
}

/** Reasons of Ready that are about the catalog. */
const FETCH_REASONS = new Set([
  "BrokerUnreachable",
  "BrokerFailed",
  "BrokerRefused",
  "CatalogInvalid",
  "CABundleInvalid",
  "CredentialsMissing",
  "CredentialsUnreadable",
]);

/** The result of an earlier leader's fetch of this generation, from the status. */
function recall({ metadata, status = {} }: ServiceBroker, isWhole: () => boolean): Partial<Entry> {
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  if (!ready || ready.observedGeneration !== metadata.generation) return {};
  if (ready.status === "True") return isWhole() ? { outcome: { kind: "kept", digest: undefined } } : {};
  const { fetchFailures: failures, fetchFailedAt } = status;
  const { reason, message } = ready;
  if (failures === undefined || fetchFailedAt === undefined || !FETCH_REASONS.has(reason)) return {};
  return { outcome: { kind: "failed", reason, message }, failures, checkedAt: Date.parse(fetchFailedAt) };
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
  return outcome?.kind === "failed" ? retryDelayMs(failures) : CREDENTIALS_MS;
}
