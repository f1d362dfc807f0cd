// Many clusters, each with its own client and informers. Clusters are engaged independently; disengaging one deletes nothing.
import type { Logger } from "pino";
import type { KubeClient } from "../client/client.ts";
import { createInformers, type Informers } from "./informers.ts";
import type { InformersOptions } from "./informer-options.ts";

const ENGAGE_TIMEOUT_MS = 30_000;

/** How to reach a cluster. `hash` changes with the address or the credential. */
export interface ClusterSource {
  hash: string;
  connect: () => KubeClient | Promise<KubeClient>;
}

export type EngagementState =
  | { phase: "engaging" }
  | { phase: "engaged" }
  /** The next call of `engage` retries. */
  | { phase: "failed"; reason: string };

/** An engaged cluster. */
export interface Engagement {
  name: string;
  client: KubeClient;
  informers: Informers;
  /** Aborted when the cluster is disengaged. Cached objects are stale from then on, not deleted. */
  signal: AbortSignal;
}

export interface ClusterProviderOptions {
  log: Logger;
  /** Starts the informers and controllers of a cluster; resolves when they are ready. Abandoned after engageTimeoutMs or when the signal is aborted. */
  onEngaged: (engagement: Engagement) => Promise<void>;
  /** The cluster is no longer used. Do not treat its objects as deleted. */
  onDisengaged?: (name: string) => void;
  informers?: Omit<InformersOptions, "client" | "log">;
  engageTimeoutMs?: number;
}

export interface ClusterProvider {
  /** Returns at once. The same hash is a no-op unless the last attempt failed; a new hash engages the cluster again. */
  engage(name: string, source: ClusterSource): void;
  /** Resolves when everything that ran for the cluster has stopped. */
  disengage(name: string): Promise<void>;
  /** Undefined for a cluster that is not engaged. */
  find(name: string): Engagement | undefined;
  /** State of every requested cluster. Not part of this process's readiness. */
  states(): Record<string, EngagementState>;
  /** Resolves when the current attempt has succeeded or failed. For tests and commands. */
  waitForAttempt(name: string): Promise<EngagementState | undefined>;
  close(): Promise<void>;
}

interface ClusterEntry {
  hash: string;
  state: EngagementState;
  abortController: AbortController;
  engagement?: Engagement;
  /** The current attempt to engage. */
  attempt: Promise<void>;
}

export function createClusterProvider(options: ClusterProviderOptions): ClusterProvider {
  return new ClusterSet(options);
}

class ClusterSet implements ClusterProvider {
  readonly #options: ClusterProviderOptions;
  readonly #entries = new Map<string, ClusterEntry>();
  readonly #disengaging = new Set<Promise<void>>();

  constructor(options: ClusterProviderOptions) {
    this.#options = options;
  }

  engage(name: string, source: ClusterSource): void {
    const known = this.#entries.get(name);
    if (known?.hash === source.hash && known.state.phase !== "failed") return;
    if (known) void this.#stop(name, known);
    const entry: ClusterEntry = {
      hash: source.hash,
      state: { phase: "engaging" },
      abortController: new AbortController(),
      attempt: Promise.resolve(),
    };
    this.#entries.set(name, entry);
    entry.attempt = tryEngage(name, source, entry, this.#options);
  }

  async disengage(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry) await this.#stop(name, entry);
  }

  find(name: string): Engagement | undefined {
    const entry = this.#entries.get(name);
    return entry?.state.phase === "engaged" ? entry.engagement : undefined;
  }

  states(): Record<string, EngagementState> {
    return Object.fromEntries([...this.#entries].map(([name, { state }]) => [name, state]));
  }

  async waitForAttempt(name: string): Promise<EngagementState | undefined> {
    const entry = this.#entries.get(name);
    await entry?.attempt;
    return entry?.state;
  }

  async close(): Promise<void> {
    for (const [name, entry] of [...this.#entries]) void this.#stop(name, entry);
    await Promise.all(this.#disengaging);
  }

  #stop(name: string, entry: ClusterEntry): Promise<void> {
    this.#entries.delete(name);
    const wasEngaged = entry.state.phase === "engaged";
    entry.abortController.abort(new Error(`cluster ${name} is disengaged`));
    if (wasEngaged) this.#options.onDisengaged?.(name);
    const ended = entry.attempt.then(() => closeEngagement(entry)).finally(() => this.#disengaging.delete(ended));
    this.#disengaging.add(ended);
    return ended;
  }
}

/** Never rejects. */
async function tryEngage(
  name: string,
  source: ClusterSource,
  entry: ClusterEntry,
  options: ClusterProviderOptions,
): Promise<void> {
  const { log, engageTimeoutMs = ENGAGE_TIMEOUT_MS } = options;
  const { signal } = entry.abortController;
  const timeout = AbortSignal.timeout(engageTimeoutMs);
  try {
    await raceAbort(connectAndEngage(name, source, entry, options), AbortSignal.any([signal, timeout]));
    if (!signal.aborted) entry.state = { phase: "engaged" };
  } catch (err) {
    const reason =
      timeout.aborted && !signal.aborted
        ? `did not answer within ${engageTimeoutMs / 1000} s`
        : err instanceof Error
          ? err.message
          : String(err);
    entry.state = { phase: "failed", reason };
    if (!signal.aborted) log.warn({ err, cluster: name }, "could not engage a cluster");
    entry.abortController.abort(new Error(`cluster ${name} could not be engaged`));
    await closeEngagement(entry);
  }
}

async function connectAndEngage(
  name: string,
  source: ClusterSource,
  entry: ClusterEntry,
  options: ClusterProviderOptions,
): Promise<void> {
  const { signal } = entry.abortController;
  const client = await source.connect();
  // The attempt was abandoned meanwhile; nothing else closes this client.
  if (signal.aborted) return void (await client.close());
  const informers = createInformers({ ...options.informers, client, log: options.log.child({ cluster: name }) });
  entry.engagement = { name, client, informers, signal };
  await options.onEngaged(entry.engagement);
}

async function closeEngagement(entry: ClusterEntry): Promise<void> {
  const { engagement } = entry;
  delete entry.engagement;
  await engagement?.informers.close();
  await engagement?.client.close();
}

/** Settles with the work, or rejects with the signal's reason. The caller that aborts closes what the work started. */
async function raceAbort(work: Promise<void>, signal: AbortSignal): Promise<void> {
  work.catch(() => undefined);
  const { promise, reject } = Promise.withResolvers<never>();
  const rejectAborted = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
  if (signal.aborted) rejectAborted();
  signal.addEventListener("abort", rejectAborted, { once: true });
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", rejectAborted);
  }
}
