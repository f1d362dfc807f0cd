// Many clusters, each with its own client and informers. A cluster that does not answer is tried again and again, and delays no other.
import type { Logger } from "pino";
import { backoffDelay, type Backoff } from "../client/backoff.ts";
import type { KubeClient } from "../client/client.ts";
import { isForbidden, isUnauthorized, KubeError } from "../client/errors.ts";
import { createSleeper } from "../client/sleeper.ts";
import { createInformers, type Informers } from "./informers.ts";
import type { InformersOptions } from "./informer-options.ts";

/** How to reach a cluster. `hash` changes with the address or the identity, not with a renewed token. */
export interface ClusterSource {
  hash: string;
  connect: () => KubeClient | Promise<KubeClient>;
}

export type EngagementState =
  | { phase: "engaging" }
  | { phase: "engaged" }
  /** It was engaged and does not answer now. Its caches hold what was last seen. `since`: the first request without an answer. */
  | { phase: "silent"; since: Date; reason: string }
  /** It was engaged and takes the credential no more. As silent: its caches hold what was last seen. */
  | { phase: "refused"; since: Date; reason: string }
  /** The last attempt; the next one follows by itself. `isSilent`: nothing answered. */
  | { phase: "failed"; reason: string; isSilent: boolean };

/** An engaged cluster. */
export interface Engagement {
  name: string;
  client: KubeClient;
  informers: Informers;
  /** Aborted when the cluster is disengaged, or engaged anew. Cached objects are stale from then on, not deleted. */
  signal: AbortSignal;
}

export interface ProviderTiming {
  /** Deadline of an attempt. */
  attemptMs: number;
  retry: Backoff;
  /** Between two questions whether an engaged cluster still answers. */
  probeMs: number;
  probeDeadlineMs: number;
}

export interface ClusterProviderOptions {
  log: Logger;
  /** Runs on each new connection before anything else uses it. A rejection fails the attempt. */
  verify?: (name: string, client: KubeClient, signal: AbortSignal) => Promise<void>;
  informers?: Omit<InformersOptions, "client" | "log">;
  timing?: Partial<ProviderTiming>;
}

export interface ClusterProvider {
  /** Returns at once. The same hash is a no-op. With a new hash the cluster's last engagement stays in use until the new one is there. */
  engage(name: string, source: ClusterSource): void;
  /** Resolves when everything that ran for the cluster has stopped. */
  disengage(name: string): Promise<void>;
  /** Undefined for a cluster that is not engaged, silent, or refuses the credential: nothing may be written to it then. */
  find(name: string): Engagement | undefined;
  /** The engaged clusters, those included that are silent or refuse the credential. */
  list(): readonly Engagement[];
  /** State of every requested cluster. Not part of this process's readiness. */
  states(): Readonly<Record<string, EngagementState>>;
  /** Called after each change of a cluster's state. Returns the unsubscribe function. */
  onChange(listener: (name: string) => void): () => void;
  close(): Promise<void>;
}

const DEFAULT_TIMING: ProviderTiming = {
  attemptMs: 15_000,
  retry: { minMs: 1_000, maxMs: 60_000, jitter: 0.5 },
  probeMs: 10_000,
  probeDeadlineMs: 5_000,
};

/** Any API server answers it to everyone whose credential it takes. */
const PROBE_PATH = "/version";

export function createClusterProvider(options: ClusterProviderOptions): ClusterProvider {
  return new ClusterSet(options);
}

interface ClusterEntry {
  name: string;
  source: ClusterSource;
  state: EngagementState;
  abort: AbortController;
  engagement?: Engagement;
  /** In use until this entry is engaged. */
  former: ClusterEntry | undefined;
  /** Resolves when nothing of this entry runs any more. */
  ended: Promise<void>;
}

class ClusterSet implements ClusterProvider {
  readonly #options: ClusterProviderOptions;
  readonly #timing: ProviderTiming;
  readonly #entries = new Map<string, ClusterEntry>();
  readonly #ending = new Set<Promise<void>>();
  readonly #listeners = new Set<(name: string) => void>();

  constructor(options: ClusterProviderOptions) {
    this.#options = options;
    this.#timing = { ...DEFAULT_TIMING, ...options.timing };
  }

  engage(name: string, source: ClusterSource): void {
    const known = this.#entries.get(name);
    if (known?.source.hash === source.hash) return;
    const isUsed = known?.engagement !== undefined;
    const entry: ClusterEntry = {
      name,
      source,
      state: { phase: "engaging" },
      abort: new AbortController(),
      former: isUsed ? known : known?.former,
      ended: Promise.resolve(),
    };
    this.#entries.set(name, entry);
    if (known && !isUsed) void this.#end(known);
    entry.ended = this.#run(entry);
    this.#notify(name);
  }

  async disengage(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    if (!entry) return;
    this.#entries.delete(name);
    const ends = [entry, ...(entry.former ? [entry.former] : [])].map((each) => this.#end(each));
    this.#notify(name);
    await Promise.all(ends);
  }

  find(name: string): Engagement | undefined {
    const entry = this.#entries.get(name);
    const used = entry && this.#usedOf(entry);
    return used?.state.phase === "engaged" ? used.engagement : undefined;
  }

  list(): readonly Engagement[] {
    return [...this.#entries.values()].flatMap((entry) => this.#usedOf(entry).engagement ?? []);
  }

  states(): Readonly<Record<string, EngagementState>> {
    return Object.fromEntries([...this.#entries].map(([name, { state }]) => [name, state]));
  }

  onChange(listener: (name: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    for (const name of [...this.#entries.keys()]) void this.disengage(name);
    await Promise.all(this.#ending);
  }

  #usedOf(entry: ClusterEntry): ClusterEntry {
    return entry.engagement || !entry.former ? entry : entry.former;
  }

  #end(entry: ClusterEntry): Promise<void> {
    entry.abort.abort(new Error(`cluster ${entry.name} is disengaged`));
    const ended = entry.ended.then(() => closeEngagement(entry)).finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
    return ended;
  }

  #setState(entry: ClusterEntry, state: EngagementState): void {
    if (entry.abort.signal.aborted) return;
    entry.state = state;
    this.#notify(entry.name);
  }

  #notify(name: string): void {
    for (const listener of this.#listeners) listener(name);
  }

  /** Engages, trying again until it succeeds, and then watches over the connection. Never rejects. */
  async #run(entry: ClusterEntry): Promise<void> {
    const { signal } = entry.abort;
    const sleeper = createSleeper();
    for (let failures = 0; !signal.aborted && !(await this.#tryEngage(entry));) {
      failures++;
      await sleeper.sleep(backoffDelay(this.#timing.retry, failures, Math.random()), signal);
    }
    while (!signal.aborted) {
      await sleeper.sleep(this.#timing.probeMs, signal);
      await this.#probe(entry);
    }
  }

  async #tryEngage(entry: ClusterEntry): Promise<boolean> {
    const { name, source, abort } = entry;
    const { verify, log, informers } = this.#options;
    const attempt = AbortSignal.any([abort.signal, AbortSignal.timeout(this.#timing.attemptMs)]);
    let client: KubeClient | undefined;
    try {
      client = await raceAbort(connect(source, attempt), attempt);
      await raceAbort(Promise.resolve(verify?.(name, client, attempt)), attempt);
    } catch (error) {
      await client?.close();
      if (!abort.signal.aborted) this.#recordFailure(entry, error);
      return false;
    }
    entry.engagement = {
      name,
      client,
      informers: createInformers({ ...informers, client, log: log.child({ cluster: name }) }),
      signal: abort.signal,
    };
    const { former } = entry;
    entry.former = undefined;
    this.#setState(entry, { phase: "engaged" });
    if (former) void this.#end(former);
    return true;
  }

  #recordFailure(entry: ClusterEntry, error: unknown): void {
    const reason = toReason(error, this.#timing.attemptMs);
    const isNew = entry.state.phase !== "failed" || entry.state.reason !== reason;
    if (isNew)
      this.#options.log.warn({ cluster: entry.name, reason }, "a cluster cannot be engaged; it is tried again");
    if (isNew) this.#setState(entry, { phase: "failed", reason, isSilent: isNoAnswer(error) });
  }

  async #probe(entry: ClusterEntry): Promise<void> {
    const { engagement, abort, state } = entry;
    if (abort.signal.aborted || !engagement) return;
    const { probeDeadlineMs: deadlineMs } = this.#timing;
    try {
      await ask(engagement.client, { deadlineMs, signal: abort.signal });
    } catch (error) {
      const phase = toLoss(error);
      const isNew = phase !== undefined && state.phase !== phase;
      if (isNew) this.#setState(entry, { phase, since: new Date(), reason: toReason(error, deadlineMs) });
      if (phase !== undefined) return;
    }
    if (state.phase === "engaged") return;
    this.#setState(entry, { phase: "engaged" });
    engagement.informers.retryNow();
  }
}

/** A credential that is refused is read again, as it may have been renewed. */
async function ask(client: KubeClient, options: { deadlineMs: number; signal: AbortSignal }): Promise<void> {
  const probe = (): Promise<unknown> => client.raw("GET", PROBE_PATH, undefined, options);
  await probe().catch(async (error: unknown) => {
    if (!isUnauthorized(error)) throw error;
    // A Secret that cannot be read now leaves the credential as it is.
    await client.renew().catch(() => undefined);
    await probe();
  });
}

/** Undefined for another refusal, which is an answer. */
function toLoss(error: unknown): "silent" | "refused" | undefined {
  if (isUnauthorized(error) || isForbidden(error) || isUntrusted(error)) return "refused";
  return !(error instanceof KubeError) || error.code === 0 || error.code >= 500 ? "silent" : undefined;
}

function isNoAnswer(error: unknown): boolean {
  const isTimeout = error instanceof DOMException && error.name === "TimeoutError";
  const isUnanswered = error instanceof KubeError && (error.code === 0 || error.code >= 500);
  return isTimeout || (isUnanswered && !isUntrusted(error));
}

const MAX_CAUSES = 5;

/** A server answers whose certificate is not trusted. */
function isUntrusted(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth++, cause = cause.cause) {
    const { code } = cause as { code?: unknown };
    if (typeof code === "string" && /CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/.test(code)) return true;
  }
  return false;
}

/** A client that comes after the attempt has ended is closed: nothing else would. */
async function connect(source: ClusterSource, attempt: AbortSignal): Promise<KubeClient> {
  const client = await source.connect();
  if (!attempt.aborted) return client;
  await client.close();
  attempt.throwIfAborted();
  return client;
}

function toReason(error: unknown, deadlineMs: number): string {
  if (error instanceof DOMException && error.name === "TimeoutError")
    return `did not answer within ${deadlineMs / 1000} s`;
  return error instanceof Error ? error.message : String(error);
}

async function closeEngagement(entry: ClusterEntry): Promise<void> {
  const { engagement } = entry;
  delete entry.engagement;
  await engagement?.informers.close();
  await engagement?.client.close();
}

/** Settles with the work, or rejects with the signal's reason. */
async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => undefined);
  const { promise, reject } = Promise.withResolvers<never>();
  const rejectAborted = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
  if (signal.aborted) rejectAborted();
  signal.addEventListener("abort", rejectAborted, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", rejectAborted);
  }
}
