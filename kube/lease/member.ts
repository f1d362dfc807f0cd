// A member of a membership, and the options to join one. Types only.
import type { Logger } from "pino";
import type { Informers } from "../cache/informers.ts";
import type { KubeClient } from "../client/client.ts";

export interface MembershipTiming {
  /** A member counts so long after its last renewal that was seen here. */
  leaseDurationMs: number;
  /** A member that could not renew for so long does not count on itself any more. Shorter than leaseMs. */
  renewDeadlineMs: number;
  /** Renewals are at most this apart; after a failure a fifth of it. */
  renewIntervalMs: number;
}

/** A process that is alive, or was a moment ago. */
export interface Member {
  identity: string;
  /** What it says of itself, e.g. its address. */
  annotations: Record<string, string>;
  /** When it joined, by its own clock; RFC 3339. */
  since: string;
  /** uid of its Lease: another one is another life of the process. */
  leaseUid: string;
}

export interface MembershipOptions {
  client: KubeClient;
  informers: Informers;
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
