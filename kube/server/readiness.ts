// Readiness of this process: it is ready once it has ingested every object that existed at its start. Later lag is staleness, not unreadiness.

/** True when passed, else the reason in a few words. Operators see it, so it holds no secret. `degraded` fails the check without making the process unready. */
export type CheckResult = true | string | { degraded: string };

export interface FailedCheck {
  name: string;
  reason: string;
}

export interface ReadinessReport {
  ready: boolean;
  /** Failed checks while not ready; empty when ready. */
  pending: FailedCheck[];
  /** Failed checks of a ready process, and tolerated ones. */
  degraded: FailedCheck[];
}

export interface Readiness {
  /** Adds a check. A string keeps the process unready until it has been ready once; from then on it counts as degraded. */
  addCheck(name: string, check: () => CheckResult): void;
  /** Tracks objects that must be ingested before the process is ready the first time. */
  track(name: string, options?: TrackOptions): ReadinessTracker;
  /** Not ready from now on, for this reason: the process is shutting down. */
  close(reason: string): void;
  check(): ReadinessReport;
  /** Number of keys remembered by trackers; 0 once ready. */
  readonly size: number;
}

export interface TrackOptions {
  /** After more failures of one object than this, it counts as degraded. Without a limit a failing object keeps the process unready. */
  retries?: number;
}

/** Follows objects from expected to observed. Calls may come in any order and do nothing once the process is ready. */
export interface ReadinessTracker {
  expect(key: string): void;
  /** The object was ingested. */
  observe(key: string): void;
  /** The object is deleted or terminating: a later `expect` ignores it too. */
  cancel(key: string): void;
  /** The object could not be ingested this time. */
  fail(key: string, reason: string): void;
  /** Call it after the last `expect` of the start. */
  expectationsDone(): void;
  /** Drops expected objects that no longer exist, for deletions without an event. */
  prune(exists: (key: string) => boolean): void;
}

export function createReadiness(): Readiness {
  return new ProcessReadiness();
}

class ProcessReadiness implements Readiness {
  readonly #checks = new Map<string, () => CheckResult>();
  readonly #trackers: ObjectTracker[] = [];
  #hasBeenReady = false;
  #closeReason: string | undefined;

  addCheck(name: string, check: () => CheckResult): void {
    this.#checks.set(name, check);
  }

  track(name: string, options: TrackOptions = {}): ReadinessTracker {
    const tracker = new ObjectTracker(name, options, () => this.#hasBeenReady);
    this.#trackers.push(tracker);
    return tracker;
  }

  close(reason: string): void {
    this.#closeReason = reason;
  }

  check(): ReadinessReport {
    const { failed, degraded } = this.#runChecks();
    const pending = [...failed, ...this.#trackers.flatMap((tracker) => tracker.pending())];
    const tolerated = [...degraded, ...this.#trackers.flatMap((tracker) => tracker.givenUp())];
    if (pending.length === 0) this.#markReady();
    if (this.#closeReason !== undefined)
      return { ready: false, pending: [{ name: "process", reason: this.#closeReason }], degraded: [] };
    return this.#hasBeenReady
      ? { ready: true, pending: [], degraded: [...failed, ...tolerated] }
      : { ready: false, pending, degraded: tolerated };
  }

  get size(): number {
    return this.#trackers.reduce((sum, tracker) => sum + tracker.size, 0);
  }

  #runChecks(): { failed: FailedCheck[]; degraded: FailedCheck[] } {
    const results = [...this.#checks].map(([name, check]) => ({ name, result: check() }));
    return {
      failed: results.flatMap(({ name, result }) => (typeof result === "string" ? [{ name, reason: result }] : [])),
      degraded: results.flatMap(({ name, result }) =>
        typeof result === "object" ? [{ name, reason: result.degraded }] : [],
      ),
    };
  }

  #markReady(): void {
    if (this.#hasBeenReady) return;
    this.#hasBeenReady = true;
    for (const tracker of this.#trackers) tracker.forget();
  }
}

const MAX_NAMED = 3;

class ObjectTracker implements ReadinessTracker {
  readonly #name: string;
  readonly #retries: number;
  readonly #isOver: () => boolean;
  readonly #expected = new Set<string>();
  /** Ingested or deleted, before or after `expect`. */
  readonly #observed = new Set<string>();
  readonly #failures = new Map<string, { count: number; why: string }>();
  #givenUp: FailedCheck[] = [];
  #areExpectationsDone = false;

  constructor(name: string, { retries = Infinity }: TrackOptions, isOver: () => boolean) {
    this.#name = name;
    this.#retries = retries;
    this.#isOver = isOver;
  }

  get size(): number {
    return this.#expected.size + this.#observed.size + this.#failures.size;
  }

  expect(key: string): void {
    if (!this.#isOver() && !this.#observed.has(key)) this.#expected.add(key);
  }

  observe(key: string): void {
    this.#markObserved(key);
  }

  cancel(key: string): void {
    this.#markObserved(key);
  }

  fail(key: string, why: string): void {
    if (this.#isOver() || this.#observed.has(key)) return;
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    this.#failures.set(key, { count, why });
    if (count <= this.#retries) return;
    this.#givenUp.push({ name: this.#name, reason: `${key}: ${why}` });
    this.#markObserved(key);
  }

  expectationsDone(): void {
    this.#areExpectationsDone = true;
  }

  prune(exists: (key: string) => boolean): void {
    for (const key of this.#expected) if (!exists(key)) this.#markObserved(key);
  }

  pending(): FailedCheck[] {
    if (this.#isOver()) return [];
    if (!this.#areExpectationsDone) return [{ name: this.#name, reason: "the first list is not complete" }];
    if (this.#expected.size === 0) return [];
    const named = [...this.#expected]
      .slice(0, MAX_NAMED)
      .map((key) => `${key}${this.#failures.has(key) ? ` (${this.#failures.get(key)?.why})` : ""}`);
    return [
      {
        name: this.#name,
        reason: `${this.#expected.size} not ingested: ${named.join(", ")}${this.#expected.size > MAX_NAMED ? ", …" : ""}`,
      },
    ];
  }

  givenUp(): FailedCheck[] {
    return this.#givenUp;
  }

  forget(): void {
    this.#expected.clear();
    this.#observed.clear();
    this.#failures.clear();
  }

  #markObserved(key: string): void {
    if (this.#isOver()) return;
    this.#expected.delete(key);
    this.#failures.delete(key);
    this.#observed.add(key);
  }
}
