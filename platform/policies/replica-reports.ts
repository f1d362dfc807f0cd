// Whether every process that judges by operator policy has a constraint whose rules read other objects: by the reports in Replica objects and the live members.
import type { PolicyReplicas } from "../../controllers/policy-template/constraint.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Replica } from "../../crds/replica/replica.ts";
import { ifReadable } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Member } from "../../kube/lease/member.ts";
import type { Membership } from "../../kube/lease/membership.ts";
import { planAcknowledgement, type Report } from "../../kube/lease/replica-acknowledgement.ts";
import { REPLICA_ANNOTATIONS } from "../leases/replica-membership.ts";
import { JUDGING_OPERATIONS } from "./start-policies.ts";

export interface ReplicaReports extends PolicyReplicas {
  close(): void;
}

export function watchReplicaReports(
  membership: Pick<Membership, "members" | "listConsistent" | "onChange">,
  informers: Pick<Informers, "ensure">,
): ReplicaReports {
  const { store, release } = informers.ensure(Replica, { namespace: SYSTEM_NAMESPACE });
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  const undo = [store.onChange(tell), store.onStateChange(tell), membership.onChange(tell)];
  return {
    async find({ version, reads, wasEnforced }) {
      const replicas = ifReadable(() => store.list());
      const members = ifReadable(() => membership.members());
      if (!replicas || !members) return undefined;
      const reports = replicas.flatMap((replica) => toReport(replica, reads) ?? []);
      const plan = (live: readonly Member[]) =>
        planAcknowledgement({ version, members: live.filter(isJudging), reports, wasEnforced });
      const seen = plan(members);
      // A replica that joined just now may have loaded only constraints that are older than its Lease.
      return seen.enforced && !wasEnforced ? plan(await membership.listConsistent()) : seen;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      for (const each of undo) each();
      release();
    },
  };
}

function isJudging({ annotations }: Member): boolean {
  const operations = (annotations[REPLICA_ANNOTATIONS.operations] ?? "").split(",");
  return JUDGING_OPERATIONS.some((operation) => operations.includes(operation));
}

/** A replica that may not watch a kind that the rules read cannot decide them. One that is still listing has nothing to report. */
function toReport({ metadata, status = {} }: Replica, reads: readonly string[]): Report | undefined {
  if (!status.policies) return undefined;
  const parked = (status.parked ?? []).filter(({ resource }) => reads.includes(resource));
  const gaps = [...new Set(parked.map(({ resource }) => `it may not watch ${resource}`))];
  return {
    replica: metadata.name,
    leaseUid: metadata.ownerReferences?.[0]?.uid ?? "",
    applied: new Set(status.policies.applied),
    error: [...(status.policies.error ? [status.policies.error] : []), ...gaps].join("; "),
  };
}
