// Leader election by a Lease. Expiry is measured on this process's clock from observed renewals; clocks are never compared.
import type { Logger } from "pino";
import { createSleeper } from "../client/sleeper.ts";
import { Lease } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import { isAlreadyExists, isConflict, isNotFound, KubeError } from "../client/errors.ts";
import { toMicroTime } from "../api/times.ts";

export interface LeaderElectionTiming {
  /** Others may acquire the Lease this long after the last renewal that they observed; a candidate with a longer one waits for its own. */
  leaseDurationMs: number;
  /** A leader that could not renew for this long stops leading. Shorter than leaseDurationMs. */
  renewDeadlineMs: number;
  /** Between attempts to acquire, and between the starts of failed renewals. */
  retryPeriodMs: number;
  /** Between renewals. Shorter than renewDeadlineMs by a retry or two. */
  renewIntervalMs: number;
}

const DEFAULT_LEADER_ELECTION_TIMING: LeaderElectionTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
  renewIntervalMs: 3_000,
};

/** A term of leadership. */
export interface Term {
  /** Increases with every change of leader: a fencing token. */
  transitions: number;
  /** Whether this process surely leads, by its own clock. Check before a side effect: the event loop may have stalled. */
  isHeld(): boolean;
}

export interface LeaderElectionOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  /** Unique to this process, e.g. host name plus a random suffix. */
  identity: string;
  /** Runs the term; its signal ends it, and the call must then return soon. Leadership is released when it returns or throws. */
  onStartedLeading: (signal: AbortSignal, term: Term) => Promise<void>;
  signal: AbortSignal;
  log: Logger;
  timing?: Partial<LeaderElectionTiming>;
  now?: () => Date;
  random?: () => number;
}

/** Runs for election until the signal is aborted, and leads whenever it wins. Rejects only when `onStartedLeading` does. */
export async function runLeaderElection(options: LeaderElectionOptions): Promise<void> {
  const candidate = new Candidate(options);
  while (!options.signal.aborted) {
    const won = await candidate.tryAcquire();
    if (won) await candidate.runTerm(won);
    // Also after a term, so that another process can win where this one failed.
    await candidate.pause();
  }
}

class Candidate {
  readonly #options: LeaderElectionOptions;
  readonly #timing: LeaderElectionTiming;
  readonly #sleeper = createSleeper();
  #observed = { record: "", at: 0 };
  /** Start of the last attempt to acquire; the term counts from there. */
  #attemptStartedAt = 0;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#timing = { ...DEFAULT_LEADER_ELECTION_TIMING, ...options.timing };
  }

  pause(signal = this.#options.signal, milliseconds = this.#timing.retryPeriodMs, mostMs = Infinity): Promise<void> {
    return this.#sleeper.sleep(
      Math.min(milliseconds * (1 + 0.2 * (this.#options.random ?? Math.random)()), mostMs),
      signal,
    );
  }

  /** The acquired Lease, or undefined when another process holds it or the server is unreachable. */
  async tryAcquire(): Promise<Lease | undefined> {
    const { client, namespace, name, log, signal } = this.#options;
    this.#attemptStartedAt = performance.now();
    try {
      const lease = await client.find(
        Lease,
        { namespace, name },
        { deadlineMs: this.#timing.renewDeadlineMs / 2, signal },
      );
      if (!lease)
        return await client.create(
          Lease,
          { metadata: { namespace, name }, spec: this.#spec(0, this.#time()) },
          { deadlineMs: this.#timing.renewDeadlineMs / 2 },
        );
      if (!this.#canAcquire(lease)) return undefined;
      const transitions = (lease.spec?.leaseTransitions ?? 0) + 1;
      return await client.update(
        Lease,
        { ...lease, spec: this.#spec(transitions, this.#time()) },
        { deadlineMs: this.#timing.renewDeadlineMs / 2, signal },
      );
    } catch (error) {
      // Every error, even an unreadable credential, only ends this attempt; the signal alone ends the candidacy.
      if (!isConflict(error) && !isAlreadyExists(error))
        log[error instanceof KubeError ? "debug" : "warn"]({ err: error, lease: name }, "could not acquire the lease");
      return undefined;
    }
  }

  /** Leads and renews concurrently, until one of them ends. */
  async runTerm(won: Lease): Promise<void> {
    const { onStartedLeading, signal, log, name } = this.#options;
    const ended = new AbortController();
    const state = { lease: won, renewedAt: this.#attemptStartedAt };
    const runTerm: Term = {
      transitions: won.spec?.leaseTransitions ?? 0,
      isHeld: () => !ended.signal.aborted && performance.now() - state.renewedAt < this.#timing.renewDeadlineMs,
    };
    log.info({ lease: name, transitions: runTerm.transitions }, "started leading");
    const renewing = this.#renewUntil(AbortSignal.any([signal, ended.signal]), state).finally(() => ended.abort());
    try {
      await onStartedLeading(AbortSignal.any([signal, ended.signal]), runTerm);
    } finally {
      ended.abort();
      await renewing;
      await this.#release(state.lease);
      log.info({ lease: name }, "stopped leading");
    }
  }

  /** Returns when the signal is aborted or leadership is lost. */
  async #renewUntil(signal: AbortSignal, state: { lease: Lease; renewedAt: number }): Promise<void> {
    const { renewDeadlineMs, retryPeriodMs, renewIntervalMs } = this.#timing;
    const leftMs = (): number => Math.max(state.renewedAt + renewDeadlineMs - performance.now(), 0);
    // A slow election leaves less than the usual time.
    let pauseMs = Math.min(renewIntervalMs, leftMs() / 2);
    for (;;) {
      await this.pause(signal, pauseMs, leftMs());
      // A busy API server needs most of what is left; the rest is for another attempt, on another connection.
      const withinMs = leftMs() * 0.75;
      if (signal.aborted || withinMs === 0) return;
      const started = performance.now();
      try {
        state.lease = await this.#write(state.lease, {}, withinMs);
        state.renewedAt = started;
        pauseMs = Math.min(renewIntervalMs, leftMs() / 2);
      } catch (error) {
        pauseMs = Math.max(0, retryPeriodMs - (performance.now() - started));
        // Another process has changed or deleted the Lease: the term is over.
        if (isConflict(error) || isNotFound(error)) return;
        this.#options.log.warn({ err: error, lease: this.#options.name }, "could not renew the lease");
      }
    }
  }

  /** Renews the Lease of this term and merges `more`. @throws KubeError; NotFound or Conflict when the term is over */
  async #write(lease: Lease, more: Lease["spec"], withinMs: number): Promise<Lease> {
    const { client } = this.#options;
    const until = performance.now() + withinMs;
    const options = (): { deadlineMs: number } => ({ deadlineMs: Math.max(until - performance.now(), 1) });
    const update = (present: Lease): Promise<Lease> =>
      client.update(Lease, { ...present, spec: { ...present.spec, renewTime: this.#time(), ...more } }, options());
    try {
      return await update(lease);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // A renewal without an answer may have succeeded.
      const present = await client.get(Lease, lease.metadata, options());
      if (!this.#isSameTerm(present, lease)) throw error;
      return update(present);
    }
  }

  #isSameTerm({ metadata, spec }: Lease, lease: Lease): boolean {
    return (
      metadata.uid === lease.metadata.uid &&
      spec?.holderIdentity === this.#options.identity &&
      spec.leaseTransitions === lease.spec?.leaseTransitions
    );
  }

  async #release(lease: Lease): Promise<void> {
    try {
      await this.#write(lease, { holderIdentity: "", leaseDurationSeconds: 1 }, this.#timing.retryPeriodMs);
    } catch (error) {
      this.#options.log.debug({ err: error, lease: this.#options.name }, "could not release the lease; it will expire");
    }
  }

  #canAcquire(lease: Lease): boolean {
    const { holderIdentity, renewTime, leaseTransitions, leaseDurationSeconds = 0 } = lease.spec ?? {};
    if (!holderIdentity || holderIdentity === this.#options.identity) return true;
    const record = JSON.stringify([holderIdentity, renewTime, leaseTransitions]);
    if (record !== this.#observed.record) this.#observed = { record, at: performance.now() };
    // The holder counts on its own duration: during an upgrade that may be another than ours.
    return performance.now() - this.#observed.at > Math.max(this.#timing.leaseDurationMs, leaseDurationSeconds * 1_000);
  }

  #spec(leaseTransitions: number, time: string) {
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: Math.ceil(this.#timing.leaseDurationMs / 1000),
      acquireTime: time,
      renewTime: time,
      leaseTransitions,
    };
  }

  #time(): string {
    return toMicroTime(this.#options.now?.() ?? new Date());
  }
}
