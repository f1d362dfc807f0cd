// A work queue of keys: each key once, one worker per key, delays, priorities, and retries that slow down.
import { createRetryLimiter, RETRY_LIMITS, type RetryLimits } from "./rate-limiter.ts";

/** What became of a key: nothing more to do, look again later, or failed (retry by the limits; keeps its priority). */
export type Outcome = { then: "done" } | { then: "again"; afterMs: number } | { then: "retry" };

export interface AddOptions {
  /** Higher goes first; 0 unless said. What the first listing finds comes with LOW_PRIORITY. */
  priority?: number;
  /** Not before this many milliseconds. */
  afterMs?: number;
}

export const LOW_PRIORITY = -100;

export interface Queue {
  /**
   * Adds a key. A key that already waits keeps its place, its earliest time and its highest priority (a raised one moves to the end of
   * its new class). A key being worked on is worked on once more afterwards.
   */
  add(key: string, options?: AddOptions): void;
  /** Keys ready or delayed; those in work not counted. */
  readonly depth: number;
  /** Nothing is ready or in work. */
  readonly isIdle: boolean;
  /** Resolves when nothing is ready or in work (delayed keys do not count). */
  idle(): Promise<void>;
  /** Takes no more keys, drops those that wait, and resolves when work in progress has ended. */
  close(): Promise<void>;
}

export interface QueueOptions {
  /** Never called for the same key twice at a time. A rejection is a retry. */
  work: (key: string) => Promise<Outcome>;
  workers: number;
  /** Told of each rejection of `work`. */
  onFault: (key: string, error: unknown) => void;
  limits?: Partial<RetryLimits>;
  /** Monotonic milliseconds. */
  now?: () => number;
}

/** Node's timers take no more; a longer delay is cut and then waited out again. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function createQueue(options: QueueOptions): Queue {
  return new KeyQueue(options);
}

interface Delayed {
  readyAt: number;
  priority: number;
  timer: NodeJS.Timeout;
}

class KeyQueue implements Queue {
  readonly #options: QueueOptions;
  readonly #now: () => number;
  readonly #limiter;
  /** Ready keys by priority; a Map keeps the order of arrival. */
  readonly #ready = new Map<number, Map<string, true>>();
  readonly #priorities = new Map<string, number>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #working = new Map<string, Promise<void>>();
  /** Added while in work: at once (highest priority), and later (earliest time, highest priority). */
  readonly #again = new Map<string, { nowAt?: number; later?: { readyAt: number; priority: number } }>();
  readonly #idle = new Set<() => void>();
  #closed = false;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#limiter = createRetryLimiter({ ...RETRY_LIMITS, ...options.limits }, this.#now);
  }

  add(key: string, options: AddOptions = {}): void {
    if (this.#closed) return;
    const { priority = 0, afterMs = 0 } = options;
    if (this.#working.has(key)) return this.#remember(key, priority, afterMs);
    if (afterMs > 0 && !this.#priorities.has(key)) this.#delay(key, priority, this.#now() + afterMs);
    else this.#makeReady(key, priority);
    this.#dispatch();
  }

  get depth(): number {
    return this.#priorities.size + this.#delayed.size;
  }

  get isIdle(): boolean {
    return this.#working.size === 0 && this.#priorities.size === 0;
  }

  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idle.add(resolve));
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { timer } of this.#delayed.values()) clearTimeout(timer);
    for (const map of [this.#delayed, this.#ready, this.#priorities, this.#again]) map.clear();
    await Promise.all(this.#working.values());
    this.#tellIdle();
  }

  #remember(key: string, priority: number, afterMs: number): void {
    const { nowAt, later } = this.#again.get(key) ?? {};
    if (afterMs > 0) {
      const readyAt = Math.min(this.#now() + afterMs, later?.readyAt ?? Infinity);
      this.#again.set(key, { nowAt, later: { readyAt, priority: Math.max(priority, later?.priority ?? -Infinity) } });
    } else this.#again.set(key, { nowAt: Math.max(priority, nowAt ?? -Infinity), later });
  }

  #delay(key: string, priority: number, readyAt: number): void {
    const before = this.#delayed.get(key);
    if (before) clearTimeout(before.timer);
    const at = Math.min(readyAt, before?.readyAt ?? Infinity);
    const most = Math.max(priority, before?.priority ?? -Infinity);
    const timer = setTimeout(() => this.#mature(key), Math.min(Math.max(0, at - this.#now()), MAX_TIMER_MS));
    this.#delayed.set(key, { readyAt: at, priority: most, timer });
  }

  #mature(key: string): void {
    const entry = this.#delayed.get(key);
    if (!entry) return;
    // A timer may fire up to a millisecond early, and long delays come in pieces.
    if (entry.readyAt - this.#now() > 1) return this.#delay(key, entry.priority, entry.readyAt);
    this.#makeReady(key, entry.priority);
    this.#dispatch();
  }

  #makeReady(key: string, priority: number): void {
    const delayed = this.#delayed.get(key);
    if (delayed) {
      clearTimeout(delayed.timer);
      this.#delayed.delete(key);
    }
    const wanted = Math.max(priority, delayed?.priority ?? -Infinity);
    const current = this.#priorities.get(key);
    if (current !== undefined && current >= wanted) return;
    if (current !== undefined) this.#unready(key, current);
    this.#priorities.set(key, wanted);
    const ready = this.#ready.get(wanted);
    if (ready) ready.set(key, true);
    else this.#ready.set(wanted, new Map([[key, true]]));
  }

  #unready(key: string, priority: number): void {
    this.#priorities.delete(key);
    const ready = this.#ready.get(priority);
    ready?.delete(key);
    if (ready?.size === 0) this.#ready.delete(priority);
  }

  #dispatch(): void {
    while (!this.#closed && this.#working.size < this.#options.workers && this.#ready.size > 0) {
      const priority = Math.max(...this.#ready.keys());
      const key = this.#ready.get(priority)?.keys().next().value;
      if (key === undefined) return;
      this.#unready(key, priority);
      this.#working.set(key, this.#workOn(key, priority));
    }
  }

  async #workOn(key: string, priority: number): Promise<void> {
    // The worker starts in a later turn, so that `add` returns before any work is done.
    await Promise.resolve();
    let outcome: Outcome;
    try {
      outcome = await this.#options.work(key);
    } catch (error) {
      this.#options.onFault(key, error);
      outcome = { then: "retry" };
    }
    this.#working.delete(key);
    const { nowAt, later } = this.#again.get(key) ?? {};
    this.#again.delete(key);
    if (outcome.then === "retry") this.add(key, { priority, afterMs: this.#limiter.next(key) });
    else this.#limiter.forget(key);
    if (outcome.then === "again") this.add(key, { priority, afterMs: outcome.afterMs });
    if (later) this.add(key, { priority: later.priority, afterMs: later.readyAt - this.#now() });
    if (nowAt !== undefined) this.add(key, { priority: nowAt });
    this.#dispatch();
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (!this.isIdle) return;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }
}
