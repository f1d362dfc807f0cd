// Keys that do not get on because what they read is not, or not yet, what the server has. That is nothing for a moment; when it lasts, the watch is opened anew, and people are told.
import type { Logger } from "pino";
import type { RequeueAction } from "./workqueue.ts";

export interface StaleCacheMonitor {
  /** The key is to be tried again for that reason: when. `resource` is what is behind. */
  recordStale(key: string, resource: string): RequeueAction;
  /** It got on, or stopped for a reason of its own. */
  clear(key: string): void;
  /** What is behind for so long that people are told; in order, the very same array while nothing changes. */
  readonly staleKinds: readonly string[];
}

export interface StaleCacheMonitorOptions {
  /** Opens the watch of a kind anew where it was. */
  reopen: (resource: string) => void;
  log: Logger;
  /** Monotonic milliseconds. */
  now?: () => number;
}

/** A watch is behind by milliseconds; one that is silent for good notices it only when its time is over. */
const REOPEN_AFTER_MS = 5_000;
const REOPEN_INTERVAL_MS = 30_000;
const REPORT_AFTER_MS = 30_000;

interface StaleKey {
  resource: string;
  since: number;
  isReported: boolean;
}

export function createStaleCacheMonitor({
  reopen,
  log,
  now = () => performance.now(),
}: StaleCacheMonitorOptions): StaleCacheMonitor {
  const staleKeys = new Map<string, StaleKey>();
  const reopenedAt = new Map<string, number>();
  let staleKinds: readonly string[] = [];

  const updateStaleKinds = (): void => {
    staleKinds = [
      ...new Set([...staleKeys.values()].flatMap(({ isReported, resource }) => (isReported ? [resource] : []))),
    ].sort();
  };
  const escalate = (key: string, one: StaleKey): void => {
    const at = now();
    if (at - one.since >= REOPEN_AFTER_MS && at - (reopenedAt.get(one.resource) ?? -Infinity) >= REOPEN_INTERVAL_MS) {
      reopenedAt.set(one.resource, at);
      reopen(one.resource);
    }
    if (at - one.since < REPORT_AFTER_MS || one.isReported) return;
    one.isReported = true;
    updateStaleKinds();
    log.warn(
      { key, resource: one.resource, seconds: Math.round((at - one.since) / 1000) },
      "an object waits for a cache that stays behind the API server; it is tried again",
    );
  };
  return {
    recordStale(key, resource) {
      const one = staleKeys.get(key) ?? { resource, since: now(), isReported: false };
      // What is named is what holds it up now.
      one.resource = resource;
      staleKeys.set(key, one);
      escalate(key, one);
      // What brings the cache level may be no event that wakes this key, so it must not wait ever longer.
      return now() - one.since < REOPEN_AFTER_MS ? { kind: "retry" } : { kind: "requeue", afterMs: REOPEN_AFTER_MS };
    },
    clear(key) {
      const one = staleKeys.get(key);
      staleKeys.delete(key);
      if (one?.isReported) updateStaleKinds();
    },
    get staleKinds() {
      return staleKinds;
    },
  };
}
