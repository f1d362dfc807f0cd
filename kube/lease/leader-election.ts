// One leader among replicas, by a Lease. Expiry is judged by renewals observed here, never by comparing clocks.
import type { Logger } from "pino";
import { createNap } from "../client/backoff.ts";
import { Lease } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import { isAlreadyExists, isConflict, isNotFound, KubeError } from "../client/errors.ts";
import { toMicroTime } from "../api/times.ts";
import type { ObjectOf } from "../api/resource-ref.ts";

export interface LeaderTiming {
  /** Others may take over so long after the last renewal they have seen. */
  leaseMs: number;
  /** A leader that could not renew for so long stops leading. Shorter than leaseMs. */
  renewMs: number;
  /** Between tries to acquire, and between renewals that fail. */
  retryMs: number;
  /** Between renewals. Shorter than renewMs by a retry or two. */
  everyMs: number;
}

export const LEADER_TIMING: LeaderTiming = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2_000, everyMs: 5_000 };

/** One time of leading. */
export interface Term {
  /** Grows with every change of leader: a fencing token. */
  transitions: number;
  /** Still surely the leader, by this process's own clock. Ask before a side effect: the event loop may have stood still. */
  holds(): boolean;
}

export interface LeaderOptions {
  client: KubeClient;
  namespace: string;
  name: string;
  /** Unique to this process, e.g. host name and a random part. */
  identity: string;
  /** Called when leading begins; its signal ends the term. Must return soon after that. Leading is given up when it returns or throws. */
  lead: (signal: AbortSignal, term: Term) => Promise<void>;
  signal: AbortSignal;
  log: Logger;
  timing?: Partial<LeaderTiming>;
  now?: () => Date;
  random?: () => number;
}

/** Competes until the signal is aborted; leads whenever it wins. Rejects only when `lead` does. */
export async function runLeader(options: LeaderOptions): Promise<void> {
  const candidate = new Candidate(options);
  while (!options.signal.aborted) {
    const won = await candidate.tryAcquire();
    if (won) await candidate.term(won);
    // Also after a term, so that another may try where this process could not do the work.
    await candidate.pause();
  }
}

type LeaseObject = ObjectOf<typeof Lease>;

class Candidate {
  readonly #o: LeaderOptions;
  readonly #timing: LeaderTiming;
  readonly #nap = createNap();
  #seen = { record: "", at: 0 };
  /** When the last try to acquire began: a term counts from there. */
  #askedAt = 0;

  constructor(options: LeaderOptions) {
    this.#o = options;
    this.#timing = { ...LEADER_TIMING, ...options.timing };
  }

  pause(signal = this.#o.signal, milliseconds = this.#timing.retryMs, mostMs = Infinity): Promise<void> {
    return this.#nap.sleep(Math.min(milliseconds * (1 + 0.2 * (this.#o.random ?? Math.random)()), mostMs), signal);
  }

  /** The lease in our name, or undefined when another holds it or the server cannot be asked. */
  async tryAcquire(): Promise<LeaseObject | undefined> {
    const { client, namespace, name, log, signal } = this.#o;
    this.#askedAt = performance.now();
    try {
      const lease = await client.find(Lease, { namespace, name }, { deadlineMs: this.#timing.renewMs / 2, signal });
      if (!lease) return await client.create(Lease, { metadata: { namespace, name }, spec: this.#spec(0, this.#time()) }, { deadlineMs: this.#timing.renewMs / 2 });
      if (!this.#isFree(lease)) return undefined;
      const transitions = (lease.spec?.leaseTransitions ?? 0) + 1;
      return await client.update(Lease, { ...lease, spec: this.#spec(transitions, this.#time()) }, { deadlineMs: this.#timing.renewMs / 2, signal });
    } catch (error) {
      // Whatever it is, a credential that cannot be read included: candidacy ends with the signal alone.
      if (!isConflict(error) && !isAlreadyExists(error)) log[error instanceof KubeError ? "debug" : "warn"]({ err: error, lease: name }, "could not ask for leadership");
      return undefined;
    }
  }

  /** Leads and renews at the same time, until one of them ends. */
  async term(won: LeaseObject): Promise<void> {
    const { lead, signal, log, name } = this.#o;
    const over = new AbortController();
    const state = { lease: won, renewedAt: this.#askedAt };
    const term: Term = { transitions: won.spec?.leaseTransitions ?? 0, holds: () => !over.signal.aborted && performance.now() - state.renewedAt < this.#timing.renewMs };
    log.info({ lease: name, transitions: term.transitions }, "leading");
    const renewing = this.#renewUntil(AbortSignal.any([signal, over.signal]), state).finally(() => over.abort());
    try {
      await lead(AbortSignal.any([signal, over.signal]), term);
    } finally {
      over.abort();
      await renewing;
      await this.#release(state.lease);
      log.info({ lease: name }, "not leading any more");
    }
  }

  /** Returns when the signal is aborted or leadership is lost. */
  async #renewUntil(signal: AbortSignal, state: { lease: LeaseObject; renewedAt: number }): Promise<void> {
    const { renewMs, retryMs, everyMs } = this.#timing;
    const leftMs = (): number => Math.max(state.renewedAt + renewMs - performance.now(), 0);
    let failed = false;
    for (;;) {
      // After a slow election there is less than the usual time.
      await this.pause(signal, failed ? retryMs : Math.min(everyMs, leftMs() / 2), leftMs());
      const withinMs = Math.min(leftMs(), renewMs / 2);
      if (signal.aborted || withinMs === 0) return;
      failed = true;
      const started = performance.now();
      try {
        state.lease = await this.#write(state.lease, {}, withinMs);
        state.renewedAt = started;
        failed = false;
      } catch (error) {
        // Somebody else has written it or removed it: it is not ours to renew any more.
        if (isConflict(error) || isNotFound(error)) return;
        this.#o.log.warn({ err: error, lease: this.#o.name }, "could not renew leadership");
      }
    }
  }

  /** Renews the Lease of this term, and more. @throws KubeError; NotFound or Conflict when it is not ours any more */
  async #write(lease: LeaseObject, more: LeaseObject["spec"], withinMs: number): Promise<LeaseObject> {
    const { client } = this.#o;
    const until = performance.now() + withinMs;
    const options = (): { deadlineMs: number } => ({ deadlineMs: Math.max(until - performance.now(), 1) });
    const update = (present: LeaseObject): Promise<LeaseObject> => client.update(Lease, { ...present, spec: { ...present.spec, renewTime: this.#time(), ...more } }, options());
    try {
      return await update(lease);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // A renewal that was not answered may have taken effect all the same.
      const present = await client.get(Lease, lease.metadata, options());
      if (!this.#isOfTerm(present, lease)) throw error;
      return update(present);
    }
  }

  #isOfTerm({ metadata, spec }: LeaseObject, lease: LeaseObject): boolean {
    return metadata.uid === lease.metadata.uid && spec?.holderIdentity === this.#o.identity && spec.leaseTransitions === lease.spec?.leaseTransitions;
  }

  async #release(lease: LeaseObject): Promise<void> {
    try {
      await this.#write(lease, { holderIdentity: "", leaseDurationSeconds: 1 }, this.#timing.retryMs);
    } catch (error) {
      this.#o.log.debug({ err: error, lease: this.#o.name }, "could not release leadership; it will expire");
    }
  }

  #isFree(lease: LeaseObject): boolean {
    const { holderIdentity, renewTime, leaseTransitions } = lease.spec ?? {};
    if (!holderIdentity || holderIdentity === this.#o.identity) return true;
    const record = JSON.stringify([holderIdentity, renewTime, leaseTransitions]);
    if (record !== this.#seen.record) this.#seen = { record, at: performance.now() };
    return performance.now() - this.#seen.at > this.#timing.leaseMs;
  }

  #spec(leaseTransitions: number, time: string) {
    return { holderIdentity: this.#o.identity, leaseDurationSeconds: Math.ceil(this.#timing.leaseMs / 1000), acquireTime: time, renewTime: time, leaseTransitions };
  }

  #time(): string {
    return toMicroTime(this.#o.now?.() ?? new Date());
  }
}
