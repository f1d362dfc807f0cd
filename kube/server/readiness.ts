// Whether this process may serve: once everything that was there at its start has been taken in. What comes later is staleness, not unreadiness.

/** True when fulfilled, else a few words about what is missing: shown to operators, so no secrets. `degraded`: it is missing, but may stay so. */
export type Answer = true | string | { degraded: string };

/** What is missing, and why. */
export interface Missing {
  name: string;
  reason: string;
}

export interface ReadinessReport {
  ready: boolean;
  /** Why not; empty when ready. */
  pending: Missing[];
  /** What is not there although the process serves. */
  degraded: Missing[];
}

export interface Readiness {
  /** Adds something to be asked until it has been fulfilled. While the process is not ready a string keeps it so; afterwards it counts as degraded. */
  expect(name: string, fulfilled: () => Answer): void;
  /** Objects of one kind that must be taken in before the process is ready the first time. */
  track(name: string, options?: TrackOptions): Tracker;
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
export interface Tracker {
  expect(key: string): void;
  /** It has been taken in. */
  observe(key: string): void;
  /** It is gone, or going: no longer expected, also when it is expected later. */
  cancel(key: string): void;
  /** It could not be taken in this time. */
  fail(key: string, why: string): void;
  /** All that is expected has been named. */
  populated(): void;
  /** Drops expectations of what does not exist any more: for objects deleted while nobody was told. */
  prune(exists: (key: string) => boolean): void;
}

export function createReadiness(): Readiness {
  const conditions = new Map<string, () => Answer>();
  const trackers: TrackerState[] = [];
  let opened = false;
  let closed: string | undefined;
  return {
    expect: (name, fulfilled) => void conditions.set(name, fulfilled),
    track(name, options = {}) {
      const tracker = new TrackerState(name, options, () => opened);
      trackers.push(tracker);
      return tracker;
    },
    close(reason) {
      closed = reason;
    },
    check() {
      const answers = [...conditions].map(([name, fulfilled]) => ({ name, answer: fulfilled() }));
      const missing = answers.flatMap(({ name, answer }) => (typeof answer === "string" ? [{ name, reason: answer }] : []));
      const tolerated = [...answers.flatMap(({ name, answer }) => (typeof answer === "object" ? [{ name, reason: answer.degraded }] : [])), ...trackers.flatMap((tracker) => tracker.givenUp())];
      const pending = [...missing, ...trackers.flatMap((tracker) => tracker.pending())];
      if (!opened && pending.length === 0) {
        opened = true;
        for (const tracker of trackers) tracker.forget();
      }
      if (closed !== undefined) return { ready: false, pending: [{ name: "process", reason: closed }], degraded: [] };
      return opened ? { ready: true, pending: [], degraded: [...missing, ...tolerated] } : { ready: false, pending, degraded: tolerated };
    },
    get size() {
      return trackers.reduce((sum, tracker) => sum + tracker.size, 0);
    },
  };
}

const NAMED = 3;

class TrackerState implements Tracker {
  readonly #name: string;
  readonly #retries: number;
  readonly #isOver: () => boolean;
  readonly #expected = new Set<string>();
  /** Taken in or gone, before or after it was expected. */
  readonly #settled = new Set<string>();
  readonly #failures = new Map<string, { count: number; why: string }>();
  #lost: Missing[] = [];
  #populated = false;

  constructor(name: string, { retries = Infinity }: TrackOptions, isOver: () => boolean) {
    this.#name = name;
    this.#retries = retries;
    this.#isOver = isOver;
  }

  get size(): number {
    return this.#expected.size + this.#settled.size + this.#failures.size;
  }

  expect(key: string): void {
    if (!this.#isOver() && !this.#settled.has(key)) this.#expected.add(key);
  }

  observe(key: string): void {
    this.#settle(key);
  }

  cancel(key: string): void {
    this.#settle(key);
  }

  fail(key: string, why: string): void {
    if (this.#isOver() || this.#settled.has(key)) return;
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    this.#failures.set(key, { count, why });
    if (count <= this.#retries) return;
    this.#lost.push({ name: this.#name, reason: `${key}: ${why}` });
    this.#settle(key);
  }

  populated(): void {
    this.#populated = true;
  }

  prune(exists: (key: string) => boolean): void {
    for (const key of this.#expected) if (!exists(key)) this.#settle(key);
  }

  pending(): Missing[] {
    if (this.#isOver()) return [];
    if (!this.#populated) return [{ name: this.#name, reason: "what there is has not been listed yet" }];
    if (this.#expected.size === 0) return [];
    const named = [...this.#expected].slice(0, NAMED).map((key) => `${key}${this.#failures.has(key) ? ` (${this.#failures.get(key)?.why})` : ""}`);
    return [{ name: this.#name, reason: `${this.#expected.size} not taken in: ${named.join(", ")}${this.#expected.size > NAMED ? ", …" : ""}` }];
  }

  givenUp(): Missing[] {
    return this.#lost;
  }

  forget(): void {
    this.#expected.clear();
    this.#settled.clear();
    this.#failures.clear();
  }

  #settle(key: string): void {
    if (this.#isOver()) return;
    this.#expected.delete(key);
    this.#failures.delete(key);
    this.#settled.add(key);
  }
}
