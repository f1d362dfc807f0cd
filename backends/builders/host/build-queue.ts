// The builds of this process by the Staging's uid: waiting, running, ended until the cluster knows. At most so many at once, one per app.
import type { Staging } from "../../../crds/staging/staging.ts";
import type { Outcome } from "./plan.ts";

/** Where one build is. */
export interface Progress {
  /** When it first started; undefined while it waits. */
  startedAt: string | undefined;
  /** Set when it has ended. */
  outcome: Outcome | undefined;
}

export interface BuildsOptions {
  atOnce: number;
  /** Rejects when the signal says stop; every other end is an outcome. */
  run: (staging: Staging, build: { startedAt: string; signal: AbortSignal }) => Promise<Outcome>;
  /** A build has started later than it was asked for, or has ended. */
  onChange: (staging: Staging) => void;
  /** What went wrong with the build itself. */
  onError: (error: unknown, staging: Staging) => void;
  now: () => Date;
}

export interface Builds {
  /** Where the build of this Staging is; it is started, or queued, when it is new. */
  progress(staging: Staging): Readonly<Progress>;
  /** The Staging is gone: its build is stopped and forgotten. */
  drop(uid: string): void;
  /** Stops everything; resolves when nothing runs any more. */
  close(): Promise<void>;
}

interface Entry {
  staging: Staging;
  progress: Progress;
  stop: AbortController;
}

/** Makes the queue; nothing runs before the first `progress`. */
export function createBuilds(options: BuildsOptions): Builds {
  const entries = new Map<string, Entry>();
  const waiting = new Set<Entry>();
  // Also those that are dropped: a build that is being stopped holds its place, and its app's cache, to its end.
  const running = new Map<Entry, Promise<void>>();
  let closed = false;

  const follow = async (entry: Entry, startedAt: string): Promise<void> => {
    try {
      entry.progress.outcome = await options.run(entry.staging, { startedAt, signal: entry.stop.signal });
    } catch (error) {
      if (!entry.stop.signal.aborted) options.onError(error, entry.staging);
    } finally {
      running.delete(entry);
      startWaiting();
      if (!closed) options.onChange(entry.staging);
    }
  };
  const startWaiting = (): void => {
    for (let next = takeNext(); next && !closed; next = takeNext()) {
      waiting.delete(next);
      // Time runs from the first start, so that a build that takes the platform down with it is not tried for ever.
      const startedAt = next.staging.status?.startedAt ?? options.now().toISOString();
      next.progress.startedAt = startedAt;
      running.set(next, follow(next, startedAt));
      options.onChange(next.staging);
    }
  };
  const takeNext = (): Entry | undefined => nextTurn([...waiting], [...running.keys()], options.atOnce);

  return {
    progress(staging) {
      const uid = staging.metadata.uid ?? "";
      const known = entries.get(uid);
      if (known || closed) return known?.progress ?? { startedAt: staging.status?.startedAt, outcome: undefined };
      const entry: Entry = { staging, progress: { startedAt: undefined, outcome: undefined }, stop: new AbortController() };
      entries.set(uid, entry);
      waiting.add(entry);
      startWaiting();
      return entry.progress;
    },
    drop(uid) {
      const entry = entries.get(uid);
      if (!entry) return;
      entries.delete(uid);
      waiting.delete(entry);
      entry.stop.abort(new Error("the build is no longer wanted"));
    },
    async close() {
      closed = true;
      waiting.clear();
      for (const entry of running.keys()) entry.stop.abort(new Error("the platform stops"));
      await Promise.all(running.values());
    },
  };
}

/** The first that waits whose app is not building, while there is room. */
export function nextTurn<T extends { staging: Pick<Staging, "spec"> }>(waiting: readonly T[], running: readonly T[], atOnce: number): T | undefined {
  if (running.length >= atOnce) return undefined;
  const busy = new Set(running.map((entry) => entry.staging.spec.app.guid));
  return waiting.find((entry) => !busy.has(entry.staging.spec.app.guid));
}
