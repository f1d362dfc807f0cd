// A rate-limited, deduplicating priority queue of keys, with one worker per key.
import { createRateLimiter, DEFAULT_RATE_LIMITS, type RateLimits } from "./rate-limiter.ts";

/** Result of processing a key: done, requeue after a delay, or retry by the rate limits with the same priority. */
export type RequeueAction = { kind: "done" } | { kind: "requeue"; afterMs: number } | { kind: "retry" };

/** A pass over a key that has ended. */
export interface Pass {
  /** From ready to its start. */
  waitedMs: number;
  workedMs: number;
  /** `fault` when `process` rejected. */
  outcome: RequeueAction["kind"] | "fault";
}

export interface AddOptions {
  /** Higher goes first; 0 by default. Keys of the first list have LOW_PRIORITY. */
  priority?: number;
  /** Delay in milliseconds. */
  afterMs?: number;
}

export const LOW_PRIORITY = -100;

export interface Workqueue {
  /**
   * Adds a key. A waiting key keeps its place, its earliest time and its highest priority; a raised one moves to the end of its new
   * class. A key in processing is processed once more afterwards.
   */
  add(key: string, options?: AddOptions): void;
  /** Number of ready and delayed keys. */
  readonly depth: number;
  /** Number of keys that wait for a worker. */
  readonly readyCount: number;
  /** How long each key in processing has been there. */
  runningMs(): number[];
  /** No key is ready or in processing. */
  readonly isIdle: boolean;
  /** Resolves when no key is ready or in processing; delayed keys do not count. */
  idle(): Promise<void>;
  /** Accepts no more keys, drops waiting ones, and resolves when processing has ended. */
  close(): Promise<void>;
}

export interface WorkqueueOptions {
  /** Never runs twice at the same time for one key. A rejection means retry. */
  process: (key: string) => Promise<RequeueAction>;
  workers: number;
  /** Receives each rejection of `process`. */
  onFault: (key: string, error: unknown) => void;
  /** Receives each pass that has ended. */
  onPass?: (pass: Pass) => void;
  rateLimits?: Partial<RateLimits>;
  /** Monotonic milliseconds. */
  now?: () => number;
}

/** Limit of Node's timers; longer delays are split. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function createWorkqueue(options: WorkqueueOptions): Workqueue {
  return new PriorityWorkqueue(options);
}

interface Delayed {
  readyAt: number;
  priority: number;
  timer: NodeJS.Timeout;
}

class PriorityWorkqueue implements Workqueue {
  readonly #options: WorkqueueOptions;
  readonly #now: () => number;
  readonly #rateLimiter;
  /** Ready keys by priority; a Map keeps insertion order. */
  readonly #ready = new Map<number, Map<string, true>>();
  readonly #priorities = new Map<string, number>();
  /** When ready keys became ready; kept only where somebody looks at passes. */
  readonly #readySince = new Map<string, number>();
  readonly #delayed = new Map<string, Delayed>();
  readonly #processing = new Map<string, { ended: Promise<void>; startedAt: number }>();
  /** Keys added during processing: immediate (highest priority) and delayed (earliest time, highest priority). */
  readonly #readded = new Map<string, { nowAt?: number; later?: { readyAt: number; priority: number } }>();
  readonly #idleWaiters = new Set<() => void>();
  #closed = false;

  constructor(options: WorkqueueOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#rateLimiter = createRateLimiter({ ...DEFAULT_RATE_LIMITS, ...options.rateLimits }, this.#now);
  }

  add(key: string, options: AddOptions = {}): void {
    if (this.#closed) return;
    const { priority = 0, afterMs = 0 } = options;
    if (this.#processing.has(key)) return this.#addWhileProcessing(key, priority, afterMs);
    if (afterMs > 0 && !this.#priorities.has(key)) this.#delay(key, priority, this.#now() + afterMs);
    else this.#makeReady(key, priority);
    this.#dispatch();
  }

  get depth(): number {
    return this.#priorities.size + this.#delayed.size;
  }

  get readyCount(): number {
    return this.#priorities.size;
  }

  runningMs(): number[] {
    const now = this.#now();
    return [...this.#processing.values()].map(({ startedAt }) => now - startedAt);
  }

  get isIdle(): boolean {
    return this.#processing.size === 0 && this.#priorities.size === 0;
  }

  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.add(resolve));
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { timer } of this.#delayed.values()) clearTimeout(timer);
    for (const map of [this.#delayed, this.#ready, this.#priorities, this.#readySince, this.#readded]) map.clear();
    await Promise.all([...this.#processing.values()].map(({ ended }) => ended));
    this.#notifyIdle();
  }

  #addWhileProcessing(key: string, priority: number, afterMs: number): void {
    const { nowAt, later } = this.#readded.get(key) ?? {};
    if (afterMs > 0) {
      const readyAt = Math.min(this.#now() + afterMs, later?.readyAt ?? Infinity);
      this.#readded.set(key, { nowAt, later: { readyAt, priority: Math.max(priority, later?.priority ?? -Infinity) } });
    } else this.#readded.set(key, { nowAt: Math.max(priority, nowAt ?? -Infinity), later });
  }

  #delay(key: string, priority: number, readyAt: number): void {
    const before = this.#delayed.get(key);
    if (before) clearTimeout(before.timer);
    const at = Math.min(readyAt, before?.readyAt ?? Infinity);
    const most = Math.max(priority, before?.priority ?? -Infinity);
    const timer = setTimeout(() => this.#onDelayElapsed(key), Math.min(Math.max(0, at - this.#now()), MAX_TIMER_MS));
    this.#delayed.set(key, { readyAt: at, priority: most, timer });
  }

  #onDelayElapsed(key: string): void {
    const entry = this.#delayed.get(key);
    if (!entry) return;
    // A timer may fire a millisecond early, and long delays are split.
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
    if (current !== undefined) this.#removeReady(key, current);
    this.#priorities.set(key, wanted);
    if (this.#options.onPass && !this.#readySince.has(key)) this.#readySince.set(key, this.#now());
    const ready = this.#ready.get(wanted);
    if (ready) ready.set(key, true);
    else this.#ready.set(wanted, new Map([[key, true]]));
  }

  #removeReady(key: string, priority: number): void {
    this.#priorities.delete(key);
    const ready = this.#ready.get(priority);
    ready?.delete(key);
    if (ready?.size === 0) this.#ready.delete(priority);
  }

  #dispatch(): void {
    while (!this.#closed && this.#processing.size < this.#options.workers && this.#ready.size > 0) {
      const priority = Math.max(...this.#ready.keys());
      const key = this.#ready.get(priority)?.keys().next().value;
      if (key === undefined) return;
      this.#removeReady(key, priority);
      const startedAt = this.#now();
      const waitedMs = startedAt - (this.#readySince.get(key) ?? startedAt);
      this.#readySince.delete(key);
      this.#processing.set(key, { ended: this.#process(key, { priority, startedAt, waitedMs }), startedAt });
    }
  }

  async #process(
    key: string,
    { priority, startedAt, waitedMs }: { priority: number; startedAt: number; waitedMs: number },
  ): Promise<void> {
    // Start in a later microtask, so that `add` returns first.
    await Promise.resolve();
    let outcome: RequeueAction;
    let hasFailed = false;
    try {
      outcome = await this.#options.process(key);
    } catch (error) {
      this.#options.onFault(key, error);
      hasFailed = true;
      outcome = { kind: "retry" };
    }
    this.#options.onPass?.({
      waitedMs,
      workedMs: this.#now() - startedAt,
      outcome: hasFailed ? "fault" : outcome.kind,
    });
    this.#processing.delete(key);
    const { nowAt, later } = this.#readded.get(key) ?? {};
    this.#readded.delete(key);
    if (outcome.kind === "retry") this.add(key, { priority, afterMs: this.#rateLimiter.when(key) });
    else this.#rateLimiter.forget(key);
    if (outcome.kind === "requeue") this.add(key, { priority, afterMs: outcome.afterMs });
    if (later) this.add(key, { priority: later.priority, afterMs: later.readyAt - this.#now() });
    if (nowAt !== undefined) this.add(key, { priority: nowAt });
    this.#dispatch();
    this.#notifyIdle();
  }

  #notifyIdle(): void {
    if (!this.isIdle) return;
    for (const resolve of this.#idleWaiters) resolve();
    this.#idleWaiters.clear();
  }
}
