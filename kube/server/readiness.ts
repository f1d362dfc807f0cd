// Whether this process may serve: once everything that was there at its start has been taken in. What comes later is staleness, not unreadiness.

/** True when fulfilled, else a few words about what is missing: shown to operators, so no secrets. `degraded`: it is missing, but may stay so. */
export type CheckResult = true | string | { degraded: string };

/** What is missing, and why. */
export interface FailedCheck {
  name: string;
  reason: string;
}

export interface ReadinessReport {
  ready: boolean;
  /** Why not; empty when ready. */
  pending: FailedCheck[];
  /** What is not there although the process serves. */
  degraded: FailedCheck[];
}

export interface Readiness {
  /** Adds something to be asked until it has been fulfilled. While the process is not ready a string keeps it so; afterwards it counts as degraded. */
  addCheck(name: string, check: () => CheckResult): void;
  /** Objects of one kind that must be taken in before the process is ready the first time. */
  track(name: string, options?: TrackOptions): ReadinessTracker;
  /** From now on not ready, with this reason: the process is going to end. */
  close(reason: string): void;
  check(): ReadinessReport;
  /** Number of keys remembered by trackers; 0 once ready. */
  readonly size: number;
}

export interface TrackOptions {
  /** So many failures of one object are waited out, then it is given up and named as degraded. Without it an object that fails keeps the process unready. */
  retries?: number;
}

/** Follows objects from "is there" to "taken in". Calls may come in any order; once the process is ready they do nothing. */
export interface ReadinessTracker {
  expect(key: string): void;
  /** It has been taken in. */
  observe(key: string): void;
  /** It is gone, or going: no longer expected, also when it is expected later. */
  cancel(key: string): void;
  /** It could not be taken in this time. */
  fail(key: string, reason: string): void;
  /** All that is expected has been named. */
  expectationsDone(): void;
  /** Drops expectations of what does not exist any more: for objects deleted while nobody was told. */
  prune(exists: (key: string) => boolean): void;
}

export function createReadiness(): Readiness {
  const checks = new Map<string, () => CheckResult>();
  const trackers: ObjectTracker[] = [];
  let hasBeenReady = false;
  let closeReason: string | undefined;
  return {
    addCheck: (name, fulfilled) => void checks.set(name, fulfilled),
    track(name, options = {}) {
      const tracker = new ObjectTracker(name, options, () => hasBeenReady);
      trackers.push(tracker);
      return tracker;
    },
    close(reason) {
      closeReason = reason;
    },
    check() {
      const answers = [...checks].map(([name, fulfilled]) => ({ name, answer: fulfilled() }));
      const missing = answers.flatMap(({ name, answer }) =>
        typeof answer === "string" ? [{ name, reason: answer }] : [],
      );
      const tolerated = [
        ...answers.flatMap(({ name, answer }) =>
          typeof answer === "object" ? [{ name, reason: answer.degraded }] : [],
        ),
        ...trackers.flatMap((tracker) => tracker.givenUp()),
      ];
      const pending = [...missing, ...trackers.flatMap((tracker) => tracker.pending())];
      if (!hasBeenReady && pending.length === 0) {
        hasBeenReady = true;
        for (const tracker of trackers) tracker.forget();
      }
      if (closeReason !== undefined)
        return { ready: false, pending: [{ name: "process", reason: closeReason }], degraded: [] };
      return hasBeenReady
        ? { ready: true, pending: [], degraded: [...missing, ...tolerated] }
        : { ready: false, pending, degraded: tolerated };
    },
    get size() {
      return trackers.reduce((sum, tracker) => sum + tracker.size, 0);
    },
  };
}

const MAX_NAMED = 3;

class ObjectTracker implements ReadinessTracker {
  readonly #name: string;
  readonly #retries: number;
  readonly #isOver: () => boolean;
  readonly #expected = new Set<string>();
  /** Taken in or gone, before or after it was expected. */
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
    if (!this.#areExpectationsDone) return [{ name: this.#name, reason: "what there is has not been listed yet" }];
    if (this.#expected.size === 0) return [];
    const named = [...this.#expected]
      .slice(0, MAX_NAMED)
      .map((key) => `${key}${this.#failures.has(key) ? ` (${this.#failures.get(key)?.why})` : ""}`);
    return [
      {
        name: this.#name,
        reason: `${this.#expected.size} not taken in: ${named.join(", ")}${this.#expected.size > MAX_NAMED ? ", …" : ""}`,
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
