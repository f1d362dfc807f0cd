// Membership of equal processes, one Lease each. Expiry is measured on this process's clock from observed renewals; clocks are never compared.
import { createSleeper } from "../client/sleeper.ts";
import { Lease } from "../api/builtin.ts";
import { OwnLease, removeLease } from "./member-lease.ts";
import { ObservedMembers } from "./observed-members.ts";
import type { InformerHandle } from "../cache/informers.ts";
import type { Member, MembershipOptions, MembershipTiming } from "./member.ts";

const DEFAULT_MEMBERSHIP_TIMING: MembershipTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  renewIntervalMs: 5_000,
};

export interface Membership {
  readonly identity: string;
  /** Resolves when this process has a Lease and sees the others', so that later reads are covered. Never rejects; `problem` explains a delay. */
  readonly joined: Promise<void>;
  /** Why joining or renewing fails; undefined when it works. */
  problem(): string | undefined;
  /** Live members by identity, this process included while it is one. @throws NotSynced, NotPermitted when Leases cannot be read */
  members(): Member[];
  /** As `members`, read from the API server: includes everyone who joined before the call. @throws KubeError */
  listConsistent(): Promise<Member[]>;
  /** Calls `listener` after a member joined, left or changed its annotations, and when `isMember` changes. Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
  /** Whether the others surely count this process: it has joined and renewed recently. Check before acting as a member. */
  isMember(): boolean;
  /** Publishes annotations of this process; undefined removes one. Written at once after joining. @throws KubeError */
  annotate(annotations: Readonly<Record<string, string | undefined>>): Promise<void>;
  /** Evicts a member, for example one that does not answer: it must rejoin before it is a member again. @throws KubeError */
  evict(member: Pick<Member, "identity" | "leaseUid">): Promise<void>;
  /** Owner reference to the Lease, for objects to delete with this process; undefined before joining. */
  ownerReference(): { apiVersion: string; kind: string; name: string; uid: string } | undefined;
  /** Stops renewing and deletes the Lease. Never rejects: a remaining Lease expires. */
  leave(): Promise<void>;
  /** Stops renewing and keeps the Lease, like a killed process. For tests. */
  abandon(): Promise<void>;
}

/** Joins, and stays until `leave`. Retries forever: a missing permission or an unreachable API server is a `problem`, not an error. */
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
  /** False after a rejoin, until caches are as new as the Lease. */
  #isCaughtUp = true;
  #catchingUp: Promise<void> | undefined;
  /** The value that listeners last saw. */
  #wasMember = false;
  #problem: string | undefined = "has not joined yet";
  #handle: InformerHandle<Lease> | undefined;

  constructor(options: MembershipOptions) {
    const { identity, group, log } = options;
    if (!/^[a-z0-9]([-a-z0-9.]{0,100}[a-z0-9])?$/.test(identity))
      throw new TypeError(`identity ${identity} must consist of lower case letters, digits, dots and dashes`);
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
    // Throws while Leases cannot be read: an old view is not "everybody".
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

  /** Sleeps for that share of the renew interval, with jitter. */
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
        this.#options.log.warn({ err, member: this.identity }, "could not join or renew the membership; it is retried");
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
    // Evicted: the others no longer count this process, so it rejoins.
    if (!this.#ownLease.clearIfDeleted(lease.metadata.uid)) return;
    this.#notifyIfChanged();
    this.#sleeper.interrupt();
  }

  #notifyIfChanged(): void {
    const isMember = this.isMember();
    if (isMember === this.#wasMember) return;
    this.#wasMember = isMember;
    this.#observed.notifyAll();
  }

  async #renewUnsynced(): Promise<void> {
    await this.#renew();
    // Throws the reason why the watch is not synced.
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

  /** After a rejoin. The Lease is renewed meanwhile. */
  #catchUp(onRejoin: (() => Promise<void>) | undefined): void {
    if (!onRejoin || this.#catchingUp) return;
    this.#catchingUp = onRejoin()
      .then(() => void (this.#isCaughtUp = true))
      .catch((err: unknown) =>
        this.#options.log.warn({ err, member: this.identity }, "could not catch up after rejoining; it is retried"),
      )
      .finally(() => {
        this.#catchingUp = undefined;
        this.#notifyIfChanged();
      });
  }

  /** Our renewals succeed, but their events do not arrive: the watch is dead. */
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

  /** Notifies about expired members and deletes their Leases; the first live member by name does it for all. */
  async #removeExpired(): Promise<void> {
    this.#notifyIfChanged();
    const now = performance.now();
    const { expired, isFirst } = this.#observed.checkExpired(now);
    if (!isFirst || !this.isMember()) return;
    for (const { metadata } of expired) {
      const { namespace, name, uid = "", resourceVersion = "" } = metadata;
      try {
        // The member may have renewed, or another process was faster.
        const isRemoved = await removeLease(
          this.#options.client,
          { namespace: namespace ?? this.#options.namespace, name },
          { uid, resourceVersion, deadlineMs: this.#timing.renewIntervalMs },
        );
        if (isRemoved) this.#options.log.info({ lease: name }, "deleted the lease of an expired process");
      } catch (err) {
        this.#options.log.debug({ err, lease: name }, "could not delete an expired lease");
      }
    }
  }
}
