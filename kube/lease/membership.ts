// Who is there: equal processes, each with a Lease that it renews. Expiry is judged by renewals observed here, never by comparing clocks.
import { createSleeper } from "../client/sleeper.ts";
import { Lease } from "../api/builtin.ts";
import { OwnLease, removeLease } from "./member-lease.ts";
import { ObservedMembers } from "./observed-members.ts";
import type { InformerHandle } from "../cache/informers.ts";
import type { Member, MembershipOptions, MembershipTiming } from "./member.ts";

export const DEFAULT_MEMBERSHIP_TIMING: MembershipTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  renewIntervalMs: 5_000,
};

export interface Membership {
  readonly identity: string;
  /** The Lease is written and the others are seen: what is listed from now on is covered by the membership. Never rejects; `problem` says what it waits for. */
  readonly joined: Promise<void>;
  /** Why joining or renewing fails now; undefined when it does not. */
  problem(): string | undefined;
  /** Those who count as alive, this process included as long as it holds; by identity. @throws NotSynced, NotPermitted when Leases cannot be seen */
  members(): Member[];
  /** As `members`, asked of the API server now: whoever joined before this call is in it. @throws KubeError */
  listConsistent(): Promise<Member[]>;
  /** Called after somebody came, went or said something else of itself, and when `holds` has changed. Returns how to stop. */
  onChange(listener: () => void): () => void;
  /** This process may count on being counted: it has joined, and renewed a short while ago. Ask before acting as a member. */
  isMember(): boolean;
  /** Says more of this process; undefined takes it back. Written at once when joined. @throws KubeError */
  annotate(annotations: Readonly<Record<string, string | undefined>>): Promise<void>;
  /** Takes the membership of another away, for example of one that does not answer: it must join again before it counts on itself. @throws KubeError */
  evict(member: Pick<Member, "identity" | "leaseUid">): Promise<void>;
  /** The Lease as an owner of objects that should go with this process; undefined before it has joined. */
  ownerReference(): { apiVersion: string; kind: string; name: string; uid: string } | undefined;
  /** Serving has ended: renews no more and removes the Lease. Never rejects: a Lease that stays expires. */
  leave(): Promise<void>;
  /** Renews no more and leaves the Lease, as a process that is killed does. For tests. */
  abandon(): Promise<void>;
}

/** Joins and stays until `leave`. Tries for ever: a missing right or an API server that is away is a `problem`, not an error. */
export function joinMembership(options: MembershipOptions): Membership {
  return new LeaseMembership(options);
}

class LeaseMembership implements Membership {
  readonly identity: string;
  readonly joined: Promise<void>;
  readonly #options: MembershipOptions;
  readonly #timing: MembershipTiming;
  readonly #annotations: Record<string, string | undefined>;
  readonly #observed: ObservedMembers;
  readonly #ownLease: OwnLease;
  readonly #stopping = new AbortController();
  readonly #sleeper = createSleeper();
  readonly #ended: Promise<void>;
  /** False after a rejoin, until what is held is as new as the Lease. */
  #isCaughtUp = true;
  #catchingUp: Promise<void> | undefined;
  /** As listeners know it. */
  #wasMember = false;
  #problem: string | undefined = "has not joined yet";
  #handle: InformerHandle<Lease> | undefined;

  constructor(options: MembershipOptions) {
    const { identity, group, log } = options;
    if (!/^[a-z0-9]([-a-z0-9.]{0,100}[a-z0-9])?$/.test(identity))
      throw new TypeError(`the identity ${identity} is not made of lower case letters, digits, dots and dashes`);
    this.#options = options;
    this.identity = identity;
    this.#timing = { ...DEFAULT_MEMBERSHIP_TIMING, ...options.timing };
    this.#annotations = { ...options.annotations };
    this.#observed = new ObservedMembers({
      leaseDurationMs: this.#timing.leaseDurationMs,
      ownLeaseName: `${group}-${identity}`,
      log,
    });
    this.#ownLease = new OwnLease(options, this.#timing, this.#stopping.signal);
    const joined = Promise.withResolvers<void>();
    this.joined = joined.promise;
    this.#ended = this.#run(joined.resolve);
  }

  problem(): string | undefined {
    return this.#problem;
  }

  isMember(): boolean {
    return this.#ownLease.isFresh && this.#isCaughtUp && !this.#stopping.signal.aborted;
  }

  members(): Member[] {
    // Throws where the Leases cannot be seen; what was seen once is not "everybody".
    this.#handle?.store.list();
    return this.#observed.listLive(performance.now());
  }

  async listConsistent(): Promise<Member[]> {
    await this.#listLeases();
    return this.#observed.listLive(performance.now());
  }

  onChange(listener: () => void): () => void {
    return this.#observed.onChange(listener);
  }

  async annotate(annotations: Readonly<Record<string, string | undefined>>): Promise<void> {
    Object.assign(this.#annotations, annotations);
    const lease = this.#ownLease.object;
    if (!lease || this.#stopping.signal.aborted) return;
    this.#observed.observe(await this.#ownLease.annotate(lease, annotations), performance.now());
  }

  async evict({ identity, leaseUid }: Pick<Member, "identity" | "leaseUid">): Promise<void> {
    const { client, namespace, group } = this.#options;
    await removeLease(
      client,
      { namespace, name: `${group}-${identity}` },
      { uid: leaseUid, deadlineMs: this.#timing.renewIntervalMs },
    );
  }

  ownerReference(): { apiVersion: string; kind: string; name: string; uid: string } | undefined {
    const metadata = this.#ownLease.object?.metadata;
    return (
      metadata && { apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: metadata.name, uid: metadata.uid ?? "" }
    );
  }

  async leave(): Promise<void> {
    await this.abandon();
    await this.#ownLease.remove();
  }

  async abandon(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #run(joined: () => void): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted && !(await this.#attempt(() => this.#ownLease.create(this.#annotations))))
      await this.#pause(0.2);
    const stopWatching = signal.aborted ? undefined : await this.#watch();
    if (!signal.aborted) joined();
    while (!signal.aborted) {
      await this.#pause(this.#problem === undefined ? 1 : 0.2);
      if (!signal.aborted) await this.#attempt(() => this.#renew());
    }
    stopWatching?.();
  }

  /** Sleeps that share of the time between renewals, or a little less, so that replicas spread. */
  #pause(share: number): Promise<void> {
    return this.#sleeper.sleep(
      this.#timing.renewIntervalMs * share * (1 - 0.2 * (this.#options.random ?? Math.random)()),
      this.#stopping.signal,
    );
  }

  async #attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      this.#problem = undefined;
      this.#notifyIfChanged();
      return true;
    } catch (err) {
      if (this.#stopping.signal.aborted) return false;
      const problem = err instanceof Error ? err.message : String(err);
      if (problem !== this.#problem)
        this.#options.log.warn(
          { err, member: this.identity },
          "could not join or renew the membership; it is tried again",
        );
      this.#problem = problem;
      return false;
    }
  }

  async #watch(): Promise<() => void> {
    const { informers, namespace, groupLabel, group } = this.#options;
    const handle = informers.ensure(Lease, { namespace, labelSelector: `${groupLabel}=${group}` });
    this.#handle = handle;
    const stop = handle.store.onChange(({ type, object }) =>
      type === "deleted" ? this.#handleLeaseDeleted(object) : this.#observed.observe(object, performance.now()),
    );
    const { signal } = this.#stopping;
    const timer = setInterval(() => void this.#removeExpired(), this.#timing.leaseDurationMs / 10).unref();
    while (!signal.aborted && !(await handle.store.waitSynced(this.#timing.renewIntervalMs)))
      await this.#attempt(() => this.#renewUnsynced());
    if (!signal.aborted) {
      for (const lease of handle.store.list()) this.#observed.observe(lease, performance.now());
    }
    return () => {
      stop();
      clearInterval(timer);
      handle.release();
    };
  }

  #handleLeaseDeleted(lease: Lease): void {
    this.#observed.remove(lease, performance.now());
    // Evicted: nobody counts on this process any more, so it does not either, and joins anew.
    if (!this.#ownLease.clearIfDeleted(lease.metadata.uid)) return;
    this.#notifyIfChanged();
    this.#sleeper.interrupt();
  }

  #notifyIfChanged(): void {
    const holds = this.isMember();
    if (holds === this.#wasMember) return;
    this.#wasMember = holds;
    this.#observed.notifyAll();
  }

  async #renewUnsynced(): Promise<void> {
    await this.#renew();
    // Throws what keeps the watch from being there.
    this.#handle?.store.list();
  }

  async #renew(): Promise<void> {
    const { onRejoin } = this.#options;
    const lease = this.#ownLease.object;
    if (lease) await this.#ownLease.renew(lease);
    else {
      this.#isCaughtUp = onRejoin === undefined;
      await this.#ownLease.create(this.#annotations);
    }
    if (!this.#isCaughtUp) this.#catchUp(onRejoin);
    if (this.#isWatchStale()) await this.#listLeases();
  }

  /** After a rejoin. The Lease is renewed meanwhile, so that nobody forgets this process. */
  #catchUp(onRejoin: (() => Promise<void>) | undefined): void {
    if (!onRejoin || this.#catchingUp) return;
    this.#catchingUp = onRejoin()
      .then(() => void (this.#isCaughtUp = true))
      .catch((err: unknown) =>
        this.#options.log.warn(
          { err, member: this.identity },
          "could not catch up after joining again; it is tried again",
        ),
      )
      .finally(() => {
        this.#catchingUp = undefined;
        this.#notifyIfChanged();
      });
  }

  /** Renewals go through and yet this process's own do not come back: the watch is dead and does not know it. */
  #isWatchStale(): boolean {
    return performance.now() - this.#observed.ownRenewalSeenAt > 2 * this.#timing.renewIntervalMs;
  }

  async #listLeases(): Promise<void> {
    const { client, namespace, groupLabel, group } = this.#options;
    const { items } = await client.list(Lease, {
      namespace,
      labelSelector: `${groupLabel}=${group}`,
      deadlineMs: this.#timing.renewDeadlineMs / 2,
    });
    this.#observed.observeAll(items, performance.now());
  }

  /** Tells of those whose time is over, and removes their Leases: one member does, the first by name. */
  async #removeExpired(): Promise<void> {
    this.#notifyIfChanged();
    const now = performance.now();
    const { expired, isFirst } = this.#observed.checkExpired(now);
    if (!isFirst || !this.isMember()) return;
    for (const { metadata } of expired) {
      const { namespace, name, uid = "", resourceVersion = "" } = metadata;
      try {
        // It may have renewed after all, or somebody else was quicker.
        const isRemoved = await removeLease(
          this.#options.client,
          { namespace: namespace ?? this.#options.namespace, name },
          { uid, resourceVersion, deadlineMs: this.#timing.renewIntervalMs },
        );
        if (isRemoved) this.#options.log.info({ lease: name }, "removed the lease of a process that is gone");
      } catch (err) {
        this.#options.log.debug({ err, lease: name }, "could not remove an expired lease");
      }
    }
  }
}
