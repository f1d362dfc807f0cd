// The builds of this process by the Staging's uid: waiting, running, ended until the cluster knows. At most so many at once, one per app.
import type { Staging } from "../../../crds/staging/staging.ts";
import type { Outcome } from "./plan.ts";

/** Where one build is. */
export interface BuildProgress {
  /** When it first started; undefined while it waits. */
  startedAt: string | undefined;
  /** Set when it has ended. */
  outcome: Outcome | undefined;
}

export interface BuildQueueOptions {
  concurrency: number;
  /** Rejects when the signal says stop; every other end is an outcome. */
  run: (staging: Staging, build: { startedAt: string; signal: AbortSignal }) => Promise<Outcome>;
  /** A build has started later than it was asked for, or has ended. */
  onChange: (staging: Staging) => void;
  /** What went wrong with the build itself. */
  onError: (error: unknown, staging: Staging) => void;
  now: () => Date;
}

export interface BuildQueue {
  /** Where the build of this Staging is; it is started, or queued, when it is new. */
  getOrStart(staging: Staging): Readonly<BuildProgress>;
  /** The Staging is gone: its build is stopped and forgotten. */
  cancel(uid: string): void;
  /** Stops everything; resolves when nothing runs any more. */
  close(): Promise<void>;
}

interface Entry {
  staging: Staging;
  progress: BuildProgress;
  stop: AbortController;
}

/** Makes the queue; nothing runs before the first `progress`. */
export function createBuildQueue(options: BuildQueueOptions): BuildQueue {
  const entries = new Map<string, Entry>();
  const pending = new Set<Entry>();
  // Also those that are dropped: a build that is being stopped holds its place, and its app's cache, to its end.
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
      // Time runs from the first start, so that a build that takes the platform down with it is not tried for ever.
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
      entry.stop.abort(new Error("the build is no longer wanted"));
    },
    async close() {
      closed = true;
      pending.clear();
      for (const entry of running.keys()) entry.stop.abort(new Error("the platform stops"));
      await Promise.all(running.values());
    },
  };
}

/** The first that waits whose app is not building, while there is room. */
export function planNextBuild<T extends { staging: Pick<Staging, "spec"> }>(
  pending: readonly T[],
  running: readonly T[],
  concurrency: number,
): T | undefined {
  if (running.length >= concurrency) return undefined;
  const busy = new Set(running.map((entry) => entry.staging.spec.app.guid));
  return pending.find((entry) => !busy.has(entry.staging.spec.app.guid));
}
