// Many clusters, each with its own client and watches. Engaging one never waits for another, and losing one is not the deletion of what it holds.
import type { Logger } from "pino";
import type { KubeClient } from "../client/client.ts";
import { createInformers, type Informers } from "./informers.ts";
import type { InformersOptions } from "./informer-options.ts";

const ENGAGE_TIMEOUT_MS = 30_000;

/** How to reach a cluster. `hash` changes when address or credential do. */
export interface ClusterSource {
  hash: string;
  connect: () => KubeClient | Promise<KubeClient>;
}

export type EngagementState =
  | { phase: "engaging" }
  | { phase: "engaged" }
  /** It is tried again when somebody engages it anew. */
  | { phase: "failed"; reason: string };

/** A cluster in use. */
export interface Engagement {
  name: string;
  client: KubeClient;
  informers: Informers;
  /** Aborted when it is disengaged. What is held of it then is old, not gone. */
  signal: AbortSignal;
}

export interface ClusterProviderOptions {
  log: Logger;
  /** Starts what is to run on a cluster (its watches, its controllers) and returns when that is ready to be used. Given up after engageMs, and on the signal. */
  onEngaged: (engagement: Engagement) => Promise<void>;
  /** The cluster is not used any more, and why. Nothing that it held is to be taken for deleted. */
  onDisengaged?: (name: string) => void;
  informers?: Omit<InformersOptions, "client" | "log">;
  engageTimeoutMs?: number;
}

export interface ClusterProvider {
  /** Returns at once. With the hash of what is engaged (or being engaged) already it does nothing, with another one it begins anew. */
  engage(name: string, source: ClusterSource): void;
  /** Resolves when nothing of it runs here any more. */
  disengage(name: string): Promise<void>;
  /** Undefined for a cluster that is not engaged: whoever is asked about it drops the question. */
  find(name: string): Engagement | undefined;
  /** Of every cluster that was asked for. Never a part of this process's readiness. */
  states(): Record<string, EngagementState>;
  /** Resolves when the present try has come to its end, either way. For tests and commands. */
  waitForAttempt(name: string): Promise<EngagementState | undefined>;
  close(): Promise<void>;
}

interface ClusterEntry {
  hash: string;
  state: EngagementState;
  abortController: AbortController;
  engagement?: Engagement;
  /** The try, and then the end of all that it started. */
  attempt: Promise<void>;
}

export function createClusterProvider(options: ClusterProviderOptions): ClusterProvider {
  const entries = new Map<string, ClusterEntry>();
  const disengaging = new Set<Promise<void>>();

  const stopEntry = (name: string, entry: ClusterEntry): Promise<void> => {
    entries.delete(name);
    const wasEngaged = entry.state.phase === "engaged";
    entry.abortController.abort(new Error(`cluster ${name} is disengaged`));
    if (wasEngaged) options.onDisengaged?.(name);
    const ended = entry.attempt.then(() => closeEngagement(entry)).finally(() => disengaging.delete(ended));
    disengaging.add(ended);
    return ended;
  };
  return {
    engage(name, source) {
      const known = entries.get(name);
      if (known?.hash === source.hash && known.state.phase !== "failed") return;
      if (known) void stopEntry(name, known);
      const entry: ClusterEntry = {
        hash: source.hash,
        state: { phase: "engaging" },
        abortController: new AbortController(),
        attempt: Promise.resolve(),
      };
      entries.set(name, entry);
      entry.attempt = tryEngage(name, source, entry, options);
    },
    async disengage(name) {
      const entry = entries.get(name);
      if (entry) await stopEntry(name, entry);
    },
    find: (name) => (entries.get(name)?.state.phase === "engaged" ? entries.get(name)?.engagement : undefined),
    states: () => Object.fromEntries([...entries].map(([name, { state }]) => [name, state])),
    async waitForAttempt(name) {
      const entry = entries.get(name);
      await entry?.attempt;
      return entry?.state;
    },
    async close() {
      for (const [name, entry] of [...entries]) void stopEntry(name, entry);
      await Promise.all(disengaging);
    },
  };
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
  // Given up meanwhile: nobody else would close it.
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

/** The work's end, or the signal's reason; what goes on in the background then is closed by whoever aborted. */
async function raceAbort(work: Promise<void>, signal: AbortSignal): Promise<void> {
  work.catch(() => undefined);
  const { promise, reject } = Promise.withResolvers<never>();
  const rejectAborted = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("given up"));
  if (signal.aborted) rejectAborted();
  signal.addEventListener("abort", rejectAborted, { once: true });
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", rejectAborted);
  }
}
