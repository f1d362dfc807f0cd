// Who is there: equal processes, each with a Lease that it renews. Expiry is judged by renewals observed here, never by comparing clocks.
import type { Logger } from "pino";
import { createNap } from "../client/backoff.ts";
import { Lease } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import { type LeaseObject, OwnLease, removeLease } from "./member-lease.ts";
import { Roll } from "./observed-members.ts";
import type { Watches, WatchHandle } from "../cache/informers.ts";

export interface MembershipTiming {
  /** A member counts so long after its last renewal that was seen here. */
  leaseMs: number;
  /** A member that could not renew for so long does not count on itself any more. Shorter than leaseMs. */
  fenceMs: number;
  /** Renewals are at most this apart; after a failure a fifth of it. */
  everyMs: number;
}

export const MEMBERSHIP_TIMING: MembershipTiming = { leaseMs: 15_000, fenceMs: 10_000, everyMs: 5_000 };

/** A process that is alive, or was a moment ago. */
export interface Member {
  identity: string;
  /** What it says of itself, e.g. its address. */
  annotations: Record<string, string>;
  /** When it joined, by its own clock; RFC 3339. */
  since: string;
  /** uid of its Lease: another one is another life of the process. */
  uid: string;
}

export interface MembershipOptions {
  client: KubeClient;
  watches: Watches;
  namespace: string;
  /** Members of one group carry this label with the group's name; Leases are found by it. */
  groupLabel: string;
  /** DNS label; also the first part of the Leases' names. */
  group: string;
  /** Unique to this process, lower case DNS characters: host name and a random part. */
  identity: string;
  annotations?: Readonly<Record<string, string>>;
  log: Logger;
  /** Called when this process had been given up by the others and has joined again: what it holds may be old. It does not hold before this returns. */
  onRejoin?: () => Promise<void>;
  timing?: Partial<MembershipTiming>;
  now?: () => Date;
  random?: () => number;
}

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
  holds(): boolean;
  /** Says more of this process; undefined takes it back. Written at once when joined. @throws KubeError */
  annotate(annotations: Readonly<Record<string, string | undefined>>): Promise<void>;
  /** Takes the membership of another away, for example of one that does not answer: it must join again before it counts on itself. @throws KubeError */
  evict(member: Pick<Member, "identity" | "uid">): Promise<void>;
  /** The Lease as an owner of objects that should go with this process; undefined before it has joined. */
  ownerReference(): { apiVersion: string; kind: string; name: string; uid: string } | undefined;
  /** Serving has ended: renews no more and removes the Lease. Never rejects: a Lease that stays expires. */
  leave(): Promise<void>;
  /** Renews no more and leaves the Lease, as a process that is killed does. For tests. */
  abandon(): Promise<void>;
}

/** Joins and stays until `leave`. Tries for ever: a missing right or an API server that is away is a `problem`, not an error. */
export function joinMembers(options: MembershipOptions): Membership {
  return new Seat(options);
}

class Seat implements Membership {
  readonly identity: string;
  readonly joined: Promise<void>;
  readonly #o: MembershipOptions;
  readonly #timing: MembershipTiming;
  readonly #annotations: Record<string, string | undefined>;
  readonly #roll: Roll;
  readonly #own: OwnLease;
  readonly #over = new AbortController();
  readonly #nap = createNap();
  readonly #ended: Promise<void>;
  /** False after a rejoin, until what is held is as new as the Lease. */
  #current = true;
  #catchingUp: Promise<void> | undefined;
  /** As listeners know it. */
  #held = false;
  #problem: string | undefined = "has not joined yet";
  #handle: WatchHandle<LeaseObject> | undefined;

  constructor(options: MembershipOptions) {
    const { identity, group, log } = options;
    if (!/^[a-z0-9]([-a-z0-9.]{0,100}[a-z0-9])?$/.test(identity)) throw new TypeError(`the identity ${identity} is not made of lower case letters, digits, dots and dashes`);
    this.#o = options;
    this.identity = identity;
    this.#timing = { ...MEMBERSHIP_TIMING, ...options.timing };
    this.#annotations = { ...options.annotations };
    this.#roll = new Roll({ leaseMs: this.#timing.leaseMs, self: `${group}-${identity}`, log });
    this.#own = new OwnLease(options, this.#timing, this.#over.signal);
    const joined = Promise.withResolvers<void>();
    this.joined = joined.promise;
    this.#ended = this.#live(joined.resolve);
  }

  problem(): string | undefined {
    return this.#problem;
  }

  holds(): boolean {
    return this.#own.isFresh && this.#current && !this.#over.signal.aborted;
  }

  members(): Member[] {
    // Throws where the Leases cannot be seen; what was seen once is not "everybody".
    this.#handle?.store.list();
    return this.#roll.live(performance.now());
  }

  async listConsistent(): Promise<Member[]> {
    await this.#look();
    return this.#roll.live(performance.now());
  }

  onChange(listener: () => void): () => void {
    return this.#roll.onChange(listener);
  }

  async annotate(annotations: Readonly<Record<string, string | undefined>>): Promise<void> {
    Object.assign(this.#annotations, annotations);
    const lease = this.#own.object;
    if (!lease || this.#over.signal.aborted) return;
    this.#roll.saw(await this.#own.annotate(lease, annotations), performance.now());
  }

  async evict({ identity, uid }: Pick<Member, "identity" | "uid">): Promise<void> {
    const { client, namespace, group } = this.#o;
    await removeLease(client, { namespace, name: `${group}-${identity}` }, { uid, deadlineMs: this.#timing.everyMs });
  }

  ownerReference(): { apiVersion: string; kind: string; name: string; uid: string } | undefined {
    const metadata = this.#own.object?.metadata;
    return metadata && { apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: metadata.name, uid: metadata.uid ?? "" };
  }

  async leave(): Promise<void> {
    await this.abandon();
    await this.#own.remove();
  }

  async abandon(): Promise<void> {
    this.#over.abort();
    await this.#ended;
  }

  async #live(joined: () => void): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted && !(await this.#tried(() => this.#own.make(this.#annotations)))) await this.#pause(0.2);
    const stopWatching = signal.aborted ? undefined : await this.#watch();
    if (!signal.aborted) joined();
    while (!signal.aborted) {
      await this.#pause(this.#problem === undefined ? 1 : 0.2);
      if (!signal.aborted) await this.#tried(() => this.#renew());
    }
    stopWatching?.();
  }

  /** Sleeps that share of the time between renewals, or a little less, so that replicas spread. */
  #pause(share: number): Promise<void> {
    return this.#nap.sleep(this.#timing.everyMs * share * (1 - 0.2 * (this.#o.random ?? Math.random)()), this.#over.signal);
  }

  async #tried(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      this.#problem = undefined;
      this.#tellHolds();
      return true;
    } catch (err) {
      if (this.#over.signal.aborted) return false;
      const problem = err instanceof Error ? err.message : String(err);
      if (problem !== this.#problem) this.#o.log.warn({ err, member: this.identity }, "could not join or renew the membership; it is tried again");
      this.#problem = problem;
      return false;
    }
  }

  async #watch(): Promise<() => void> {
    const { watches, namespace, groupLabel, group } = this.#o;
    const handle = watches.ensure(Lease, { namespace, labelSelector: `${groupLabel}=${group}` });
    this.#handle = handle;
    const stop = handle.store.onChange(({ type, object }) => (type === "deleted" ? this.#lost(object) : this.#roll.saw(object, performance.now())));
    const { signal } = this.#over;
    const timer = setInterval(() => void this.#sweep(), this.#timing.leaseMs / 10).unref();
    while (!signal.aborted && !(await handle.store.waitSynced(this.#timing.everyMs))) await this.#tried(() => this.#renewUnseen());
    if (!signal.aborted) {
      for (const lease of handle.store.list()) this.#roll.saw(lease, performance.now());
    }
    return () => {
      stop();
      clearInterval(timer);
      handle.release();
    };
  }

  #lost(lease: LeaseObject): void {
    this.#roll.lost(lease, performance.now());
    // Evicted: nobody counts on this process any more, so it does not either, and joins anew.
    if (!this.#own.lose(lease.metadata.uid)) return;
    this.#tellHolds();
    this.#nap.wake();
  }

  #tellHolds(): void {
    const holds = this.holds();
    if (holds === this.#held) return;
    this.#held = holds;
    this.#roll.tellAll();
  }

  async #renewUnseen(): Promise<void> {
    await this.#renew();
    // Throws what keeps the watch from being there.
    this.#handle?.store.list();
  }

  async #renew(): Promise<void> {
    const { onRejoin } = this.#o;
    const lease = this.#own.object;
    if (lease) await this.#own.renew(lease);
    else {
      this.#current = onRejoin === undefined;
      await this.#own.make(this.#annotations);
    }
    if (!this.#current) this.#bringUpToDate(onRejoin);
    if (this.#sightIsOld()) await this.#look();
  }

  /** After a rejoin. The Lease is renewed meanwhile, so that nobody forgets this process. */
  #bringUpToDate(onRejoin: (() => Promise<void>) | undefined): void {
    if (!onRejoin || this.#catchingUp) return;
    this.#catchingUp = onRejoin()
      .then(() => void (this.#current = true))
      .catch((err: unknown) => this.#o.log.warn({ err, member: this.identity }, "could not catch up after joining again; it is tried again"))
      .finally(() => {
        this.#catchingUp = undefined;
        this.#tellHolds();
      });
  }

  /** Renewals go through and yet this process's own do not come back: the watch is dead and does not know it. */
  #sightIsOld(): boolean {
    return performance.now() - this.#roll.echoAt > 2 * this.#timing.everyMs;
  }

  async #look(): Promise<void> {
    const { client, namespace, groupLabel, group } = this.#o;
    const { items } = await client.list(Lease, { namespace, labelSelector: `${groupLabel}=${group}`, deadlineMs: this.#timing.fenceMs / 2 });
    this.#roll.sawAll(items, performance.now());
  }

  /** Tells of those whose time is over, and removes their Leases: one member does, the first by name. */
  async #sweep(): Promise<void> {
    this.#tellHolds();
    const now = performance.now();
    const { expired, first } = this.#roll.check(now);
    if (!first || !this.holds()) return;
    for (const { metadata } of expired) {
      const { namespace, name, uid = "", resourceVersion = "" } = metadata;
      try {
        // It may have renewed after all, or somebody else was quicker.
        const isRemoved = await removeLease(this.#o.client, { namespace: namespace ?? this.#o.namespace, name }, { uid, resourceVersion, deadlineMs: this.#timing.everyMs });
        if (isRemoved) this.#o.log.info({ lease: name }, "removed the lease of a process that is gone");
      } catch (err) {
        this.#o.log.debug({ err, lease: name }, "could not remove an expired lease");
      }
    }
  }
}
