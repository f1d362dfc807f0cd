// This process as one of equal replicas: its name, its membership, and its annotations for the others.
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "pino";
import type { KubeClient } from "../../kube/client/client.ts";
import type { LeaderElectionTiming } from "../../kube/lease/leader-election.ts";
import { joinMembership, type Membership } from "../../kube/lease/membership.ts";
import type { Member, MembershipOptions, MembershipTiming } from "../../kube/lease/member.ts";
import { isUnreadable } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Operation } from "../operations/operations.ts";
import { cupolaVersion } from "../version.ts";

/** Label of the replicas' Leases. */
const REPLICAS_LABEL = "cupola.dev/replicas";
const REPLICA_GROUP = "replica";
/** Annotations of a replica's Lease. */
export const REPLICA_ANNOTATIONS = {
  operations: "cupola.dev/operations",
  version: "cupola.dev/version",
  telemetry: "cupola.dev/telemetry-url",
  authority: "cupola.dev/telemetry-authority",
  logs: "cupola.dev/logs",
  relay: "cupola.dev/relay-url",
  relayAuthority: "cupola.dev/relay-authority",
} as const;

/** Seconds after which other replicas take over from a killed one; see `leaseTiming`. */
export const LEASE_SECONDS = 15;

/** Derives all times of Leases from the longest time that a dead replica may count as alive, in seconds. */
export function leaseTiming(seconds = LEASE_SECONDS): { leader: LeaderElectionTiming; member: MembershipTiming } {
  const leaseMs = seconds * 1000;
  const fenceMs = (leaseMs * 2) / 3;
  return {
    leader: {
      leaseDurationMs: leaseMs,
      renewDeadlineMs: fenceMs,
      retryPeriodMs: (leaseMs * 2) / 15,
      // Often, since a renewal that is sent just before the API server becomes slow has only what is left until the fence.
      renewIntervalMs: leaseMs / 5,
    },
    member: { leaseDurationMs: leaseMs, renewDeadlineMs: fenceMs, renewIntervalMs: leaseMs / 3 },
  };
}

/** A name that no other process has: this machine's (a pod's own name) and a random part. */
export function newReplicaIdentity(): string {
  const host = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60);
  return `${host || "replica"}-${randomBytes(4).toString("hex")}`;
}

export interface JoinReplicasOptions {
  client: KubeClient;
  informers: Informers;
  operations: readonly Operation[];
  identity: string;
  timing: MembershipTiming;
  /** More annotations of its Lease. */
  annotations: Readonly<Record<string, string>>;
  /** Called after the others had evicted this process and it has listed everything again. */
  onRejoined: () => Promise<void>;
  /** As in MembershipOptions. */
  onRewound?: MembershipOptions["onRewound"];
  log: Logger;
}

/** Joins the replicas of this platform. Await `joined` before listing anything: other replicas wait only for members. */
export function joinReplicas({
  client,
  informers,
  operations,
  identity,
  timing,
  annotations,
  onRejoined,
  onRewound,
  log,
}: JoinReplicasOptions): Membership {
  const relistAndNotify = async (): Promise<void> => {
    // The caches may lack writes that other replicas acknowledged while this process was not a member.
    await informers.relist();
    await onRejoined();
  };
  return joinMembership({
    client,
    informers,
    identity,
    timing,
    log,
    onRejoin: relistAndNotify,
    ...(onRewound && { onRewound }),
    namespace: SYSTEM_NAMESPACE,
    groupLabel: REPLICAS_LABEL,
    group: REPLICA_GROUP,
    annotations: {
      [REPLICA_ANNOTATIONS.operations]: operations.join(","),
      [REPLICA_ANNOTATIONS.version]: cupolaVersion(),
      ...annotations,
    },
  });
}

/** The live replicas; undefined while the members cannot be read. */
export function findLiveMembers(membership: Membership): Member[] | undefined {
  try {
    return membership.members();
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}
