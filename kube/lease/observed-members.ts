// Observed Leases of a membership, and when each was last seen renewed, by this process's clock. No I/O.
import type { Logger } from "pino";
import type { Lease } from "../api/builtin.ts";
import type { Member } from "./member.ts";
import { hasReached } from "../api/resource-version.ts";

interface ObservedLease {
  lease: Lease;
  /** First observation of its current renewal, in milliseconds of performance.now(). */
  renewalSeenAt: number;
}

export interface ObservedMembersOptions {
  leaseDurationMs: number;
  /** Name of this process's own Lease. */
  ownLeaseName: string;
  log: Logger;
}

export class ObservedMembers {
  readonly #options: ObservedMembersOptions;
  readonly #entries = new Map<string, ObservedLease>();
  readonly #listeners = new Set<() => void>();
  #lastNotified = "[]";

  constructor(options: ObservedMembersOptions) {
    this.#options = options;
  }

  /** When this process last observed its own renewal. */
  get ownRenewalSeenAt(): number {
    return this.#entries.get(this.#options.ownLeaseName)?.renewalSeenAt ?? -Infinity;
  }

  /** Members alive at `now`, by identity. */
  listLive(now: number): Member[] {
    return this.#partition(now)
      .live.map(toMember)
      .sort((a, b) => (a.identity < b.identity ? -1 : 1));
  }

  observe(lease: Lease, now: number): void {
    this.#record(lease, now);
    this.#notifyIfChanged(now);
  }

  /** Replaces the observed Leases. */
  observeAll(leases: readonly Lease[], now: number): void {
    const names = new Set(leases.map(({ metadata }) => metadata.name));
    for (const name of this.#entries.keys()) if (!names.has(name)) this.#entries.delete(name);
    for (const lease of leases) this.#record(lease, now);
    this.#notifyIfChanged(now);
  }

  remove(lease: Lease, now: number): void {
    const { name, uid } = lease.metadata;
    if (this.#entries.get(name)?.lease.metadata.uid === uid) this.#entries.delete(name);
    this.#notifyIfChanged(now);
  }

  /** Notifies listeners of expired members. `isFirst`: this process is the first live member by name. */
  checkExpired(now: number): { expired: Lease[]; isFirst: boolean } {
    this.#notifyIfChanged(now);
    const { live, expired } = this.#partition(now);
    return { expired, isFirst: live.map(({ metadata }) => metadata.name).sort()[0] === this.#options.ownLeaseName };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #partition(now: number): { live: Lease[]; expired: Lease[] } {
    const { leaseDurationMs } = this.#options;
    // A process that does not observe its own renewals has a dead watch, so it expires nobody.
    const isWatchStale = now - this.ownRenewalSeenAt > leaseDurationMs;
    const [live, expired]: [Lease[], Lease[]] = [[], []];
    for (const { lease, renewalSeenAt } of this.#entries.values())
      (isWatchStale || now - renewalSeenAt <= leaseDurationMs ? live : expired).push(lease);
    return { live, expired };
  }

  #record(lease: Lease, now: number): void {
    const known = this.#entries.get(lease.metadata.name);
    if (known && !isNewer(lease, known.lease)) return;
    const renewed = !known || renewalId(known.lease) !== renewalId(lease);
    this.#entries.set(lease.metadata.name, { lease, renewalSeenAt: renewed ? now : known.renewalSeenAt });
  }

  #notifyIfChanged(now: number): void {
    const present = JSON.stringify(this.listLive(now));
    if (present === this.#lastNotified) return;
    this.#lastNotified = present;
    this.notifyAll();
  }

  notifyAll(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (err) {
        this.#options.log.error({ err }, "a listener of the membership failed");
      }
    }
  }
}

function isNewer(lease: Lease, known: Lease): boolean {
  return (
    lease.metadata.resourceVersion !== known.metadata.resourceVersion &&
    hasReached(lease.metadata.resourceVersion ?? "", known.metadata.resourceVersion ?? "")
  );
}

/** Identifies one renewal of one Lease. */
function renewalId({ metadata, spec }: Lease): string {
  return `${metadata.uid} ${spec?.renewTime}`;
}

function toMember({ metadata, spec }: Lease): Member {
  return {
    identity: spec?.holderIdentity ?? metadata.name,
    annotations: { ...metadata.annotations },
    since: spec?.acquireTime ?? metadata.creationTimestamp ?? "",
    leaseUid: metadata.uid ?? "",
  };
}
