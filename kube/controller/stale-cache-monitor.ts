// Keys whose reconciles keep reading a stale cache. A short lag is normal; a longer one reopens the watch, a lasting one is reported.
import type { Logger } from "pino";
import type { RequeueAction } from "./workqueue.ts";

export interface StaleCacheMonitor {
  /** A reconcile of the key read a stale cache of `resource`. Returns when to retry. */
  recordStale(key: string, resource: string): RequeueAction;
  /** The reconcile succeeded, or failed for another reason. */
  clear(key: string): void;
  /** Resources stale for REPORT_AFTER_MS, sorted; the same array until it changes. */
  readonly staleKinds: readonly string[];
}

export interface StaleCacheMonitorOptions {
  /** Reopens the watches of a resource at their resourceVersion. */
  reopen: (resource: string) => void;
  log: Logger;
  /** Monotonic milliseconds. */
  now?: () => number;
}

/** A healthy watch lags by milliseconds; a dead connection is noticed only at the watch's timeout. */
const REOPEN_AFTER_MS = 5_000;
const REOPEN_INTERVAL_MS = 30_000;
const REPORT_AFTER_MS = 30_000;

interface StaleKey {
  resource: string;
  since: number;
  isReported: boolean;
}

export function createStaleCacheMonitor(options: StaleCacheMonitorOptions): StaleCacheMonitor {
  return new StaleKeys(options);
}

class StaleKeys implements StaleCacheMonitor {
  readonly #options: StaleCacheMonitorOptions;
  readonly #now: () => number;
  readonly #keys = new Map<string, StaleKey>();
  readonly #reopenedAt = new Map<string, number>();
  #staleKinds: readonly string[] = [];

  constructor(options: StaleCacheMonitorOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  recordStale(key: string, resource: string): RequeueAction {
    const entry = this.#keys.get(key) ?? { resource, since: this.#now(), isReported: false };
    // A later reconcile may read another stale cache.
    entry.resource = resource;
    this.#keys.set(key, entry);
    this.#reopenIfDue(entry);
    this.#reportIfDue(key, entry);
    // The event that makes the cache current may not enqueue this key, so the delay must not keep growing.
    return this.#age(entry) < REOPEN_AFTER_MS ? { kind: "retry" } : { kind: "requeue", afterMs: REOPEN_AFTER_MS };
  }

  clear(key: string): void {
    const entry = this.#keys.get(key);
    this.#keys.delete(key);
    if (entry?.isReported) this.#updateStaleKinds();
  }

  get staleKinds(): readonly string[] {
    return this.#staleKinds;
  }

  #age({ since }: StaleKey): number {
    return this.#now() - since;
  }

  #reopenIfDue(entry: StaleKey): void {
    const sinceReopenMs = this.#now() - (this.#reopenedAt.get(entry.resource) ?? -Infinity);
    if (this.#age(entry) < REOPEN_AFTER_MS || sinceReopenMs < REOPEN_INTERVAL_MS) return;
    this.#reopenedAt.set(entry.resource, this.#now());
    this.#options.reopen(entry.resource);
  }

  #reportIfDue(key: string, entry: StaleKey): void {
    if (this.#age(entry) < REPORT_AFTER_MS || entry.isReported) return;
    entry.isReported = true;
    this.#updateStaleKinds();
    this.#options.log.warn(
      { key, resource: entry.resource, seconds: Math.round(this.#age(entry) / 1000) },
      "an object waits for a cache that lags behind the API server; the reconcile is retried",
    );
  }

  #updateStaleKinds(): void {
    const reported = [...this.#keys.values()].filter(({ isReported }) => isReported);
    this.#staleKinds = [...new Set(reported.map(({ resource }) => resource))].sort();
  }
}
