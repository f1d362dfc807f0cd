// A member of a membership, and the options to join one. Types only.
import type { Logger } from "pino";
import type { Informers } from "../cache/informers.ts";
import type { KubeClient } from "../client/client.ts";

export interface MembershipTiming {
  /** A member counts as alive this long after its last observed renewal. */
  leaseDurationMs: number;
  /** A member that could not renew for this long no longer counts itself. Shorter than leaseDurationMs. */
  renewDeadlineMs: number;
  /** Longest time between renewals; after a failure a fifth of it. */
  renewIntervalMs: number;
}

/** A live process. */
export interface Member {
  identity: string;
  /** Published by the process, e.g. its address. */
  annotations: Record<string, string>;
  /** Time of joining by the process's own clock; RFC 3339. */
  since: string;
  /** uid of its Lease; it differs after a restart or a rejoin. */
  leaseUid: string;
}

export interface MembershipOptions {
  client: KubeClient;
  informers: Informers;
  namespace: string;
  /** Label with the group's name, by which Leases are found. */
  groupLabel: string;
  /** DNS label; also the prefix of the Leases' names. */
  group: string;
  /** Unique to this process: lower case DNS characters, e.g. host name plus a random suffix. */
  identity: string;
  annotations?: Readonly<Record<string, string>>;
  log: Logger;
  /** Called when this process rejoins after others evicted it: its caches may be stale. It is no member until this resolves. */
  onRejoin?: () => Promise<void>;
  /**
   * Called when the API server answers a write of the Lease with a smaller resourceVersion than an earlier one: the cluster was restored from a backup, and
   * every cache and every remembered version of this process is of a future that did not happen.
   */
  onRewound?: (versions: { before: string; now: string }) => void;
  timing?: Partial<MembershipTiming>;
  now?: () => Date;
  random?: () => number;
}
