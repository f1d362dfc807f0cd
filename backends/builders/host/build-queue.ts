// The builds of this process by the Staging's uid: pending, running, or ended. At most `concurrency` at once, and one per app.
import type { Staging } from "../../../crds/staging/staging.ts";
import type { Outcome } from "./plan.ts";

/** The progress of one build. */
export interface BuildProgress {
  /** Time of its first start; undefined while it is pending. */
  startedAt: string | undefined;
  /** Set when it has ended. */
  outcome: Outcome | undefined;
}

export interface BuildQueueOptions {
  concurrency: number;
  /** Rejects when the signal aborts; every other end is an outcome. */
  run: (staging: Staging, build: { startedAt: string; signal: AbortSignal }) => Promise<Outcome>;
  /** Called when a pending build starts and when a build ends. */
  onChange: (staging: Staging) => void;
  /** Gets errors of the platform, not of the app. */
  onError: (error: unknown, staging: Staging) => void;
  now: () => Date;
}

export interface BuildQueue {
  /** The progress of this Staging's build. A new one is queued, and started when there is room. */
  getOrStart(staging: Staging): Readonly<BuildProgress>;
  /** Stops and forgets the build of a Staging that is gone. */
  cancel(uid: string): void;
  /** Stops all builds; resolves when none is running. */
  close(): Promise<void>;
}

interface Entry {
  staging: Staging;
  progress: BuildProgress;
  stop: AbortController;
}

/** Makes the queue. Nothing runs before the first `getOrStart`. */
export function createBuildQueue(options: BuildQueueOptions): BuildQueue {
  const entries = new Map<string, Entry>();
  const pending = new Set<Entry>();
  // Cancelled builds included: one that is stopping keeps its place, and its app's cache, until it has ended.
  const running = new Map<Entry, Promise<void>>();
  let closed = false;

  const runEntry = async (entry: Entry, startedAt: string): Promise<void> => {
    try {
      entry.progress.outcome = await options.run(entry.staging, { startedAt, signal: entry.stop.signal });
    } catch (error) {
      if (!entry.stop.signal.aborted) options.onError(error, entry.staging);
    } finally {
      running.delete(entry);
      startPending();
      if (!closed) options.onChange(entry.staging);
    }
  };
  const startPending = (): void => {
    for (let next = takeNext(); next && !closed; next = takeNext()) {
      pending.delete(next);
      // Time runs from the first start, so a build that crashes the platform is not repeated for ever.
      const startedAt = next.staging.status?.startedAt ?? options.now().toISOString();
      next.progress.startedAt = startedAt;
      running.set(next, runEntry(next, startedAt));
      options.onChange(next.staging);
    }
  };
  const takeNext = (): Entry | undefined => planNextBuild([...pending], [...running.keys()], options.concurrency);

  return {
    getOrStart(staging) {
      const uid = staging.metadata.uid ?? "";
      const known = entries.get(uid);
      if (known || closed) return known?.progress ?? { startedAt: staging.status?.startedAt, outcome: undefined };
      const entry: Entry = {
        staging,
        progress: { startedAt: undefined, outcome: undefined },
        stop: new AbortController(),
      };
      entries.set(uid, entry);
      pending.add(entry);
      startPending();
      return entry.progress;
    },
    cancel(uid) {
      const entry = entries.get(uid);
      if (!entry) return;
      entries.delete(uid);
      pending.delete(entry);
      entry.stop.abort(new Error("the Staging was deleted"));
    },
    async close() {
      closed = true;
      pending.clear();
      for (const entry of running.keys()) entry.stop.abort(new Error("the platform is stopping"));
      await Promise.all(running.values());
    },
  };
}

/** The first pending build whose app is not building; undefined when all places are taken. */
export function planNextBuild<T extends { staging: Pick<Staging, "spec"> }>(
  pending: readonly T[],
  running: readonly T[],
  concurrency: number,
): T | undefined {
  if (running.length >= concurrency) return undefined;
  const busy = new Set(running.map((entry) => entry.staging.spec.app.guid));
  return pending.find((entry) => !busy.has(entry.staging.spec.app.guid));
}
