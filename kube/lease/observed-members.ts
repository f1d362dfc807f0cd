// The roll of a membership: which Leases were seen renewed, and when, by this process's own clock. No I/O.
import type { Logger } from "pino";
import type { Lease } from "../api/builtin.ts";
import type { Member } from "./membership.ts";
import type { ObjectOf } from "../api/resource-ref.ts";
import { hasReached } from "../cache/store.ts";

type LeaseObject = ObjectOf<typeof Lease>;

interface Entry {
  lease: LeaseObject;
  /** When its present renewal was first seen, in milliseconds of performance.now(). */
  at: number;
}

export interface RollOptions {
  leaseMs: number;
  /** Name of this process's own Lease. */
  self: string;
  log: Logger;
}

export class Roll {
  readonly #o: RollOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<() => void>();
  #told = "[]";

  constructor(options: RollOptions) {
    this.#o = options;
  }

  /** When this process's own renewal was last seen from outside. */
  get echoAt(): number {
    return this.#entries.get(this.#o.self)?.at ?? -Infinity;
  }

  /** Observed alive at `now`, by identity. */
  live(now: number): Member[] {
    return this.#split(now).live.map(toMember).sort((a, b) => (a.identity < b.identity ? -1 : 1));
  }

  saw(lease: LeaseObject, now: number): void {
    this.#note(lease, now);
    this.#tell(now);
  }

  /** These and no others exist. */
  sawAll(leases: readonly LeaseObject[], now: number): void {
    const names = new Set(leases.map(({ metadata }) => metadata.name));
    for (const name of this.#entries.keys()) if (!names.has(name)) this.#entries.delete(name);
    for (const lease of leases) this.#note(lease, now);
    this.#tell(now);
  }

  lost(lease: LeaseObject, now: number): void {
    const { name, uid } = lease.metadata;
    if (this.#entries.get(name)?.lease.metadata.uid === uid) this.#entries.delete(name);
    this.#tell(now);
  }

  /** Tells listeners when somebody's time is over. `first`: this process is the first of the living, by name. */
  check(now: number): { expired: LeaseObject[]; first: boolean } {
    this.#tell(now);
    const { live, expired } = this.#split(now);
    return { expired, first: live.map(({ metadata }) => metadata.name).sort()[0] === this.#o.self };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #split(now: number): { live: LeaseObject[]; expired: LeaseObject[] } {
    const { leaseMs } = this.#o;
    // Whoever does not see its own renewals is blind, and blindness is nobody's death.
    const blind = now - this.echoAt > leaseMs;
    const [live, expired]: [LeaseObject[], LeaseObject[]] = [[], []];
    for (const { lease, at } of this.#entries.values()) (blind || now - at <= leaseMs ? live : expired).push(lease);
    return { live, expired };
  }

  #note(lease: LeaseObject, now: number): void {
    const known = this.#entries.get(lease.metadata.name);
    if (known && !isNewer(lease, known.lease)) return;
    const renewed = !known || renewalOf(known.lease) !== renewalOf(lease);
    this.#entries.set(lease.metadata.name, { lease, at: renewed ? now : known.at });
  }

  #tell(now: number): void {
    const present = JSON.stringify(this.live(now));
    if (present === this.#told) return;
    this.#told = present;
    this.tellAll();
  }

  tellAll(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (err) {
        this.#o.log.error({ err }, "a listener of the membership failed");
      }
    }
  }
}

function isNewer(lease: LeaseObject, known: LeaseObject): boolean {
  return lease.metadata.resourceVersion !== known.metadata.resourceVersion && hasReached(lease.metadata.resourceVersion ?? "", known.metadata.resourceVersion ?? "");
}

/** The life and the moment that a Lease vouches for. */
function renewalOf({ metadata, spec }: LeaseObject): string {
  return `${metadata.uid} ${spec?.renewTime}`;
}

function toMember({ metadata, spec }: LeaseObject): Member {
  return { identity: spec?.holderIdentity ?? metadata.name, annotations: { ...metadata.annotations }, since: spec?.acquireTime ?? metadata.creationTimestamp ?? "", uid: metadata.uid ?? "" };
}
