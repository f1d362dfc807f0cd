// The state of a job that waits on a service broker, as the object's status tells it. Pure.
import { PAID_PLAN_FORBIDDEN, QUOTA_EXCEEDED } from "../../crds/org-quota/counts.ts";
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { isHeard } from "../../crds/service-instance/deletion-wish.ts";
import type { LastOperation } from "../../crds/service-instance/managed-fields.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";

/** POLLING: the broker has said that it goes on by itself; `cf` without `--wait` then stops asking. */
export type BrokerJobState = { state: "PROCESSING" | "POLLING" | "COMPLETE" } | { state: "FAILED"; why: string };

export interface BrokerJob {
  verb: "create" | "update" | "delete";
  /** metadata.generation that an update is to bring about. */
  generation: number | undefined;
}

const PROCESSING = { state: "PROCESSING" } as const;
const COMPLETE = { state: "COMPLETE" } as const;

/** @param object undefined when it is gone */
export function brokerJobState(job: BrokerJob, object: ServiceInstance | ServiceBinding | undefined): BrokerJobState {
  if (!object) return job.verb === "delete" ? COMPLETE : failedOf("create", "it was deleted meanwhile.");
  const last = object.status?.lastOperation;
  if (job.verb === "delete") return deletionState(object);
  if (!last) return PROCESSING;
  const state = job.verb === "update" ? updateState(job, object, last) : creationState(last);
  // A request that the broker has not taken yet is under way, too.
  const isWaiting = state.state === "PROCESSING" && last.state === "initial" && isRepeated(object);
  return isWaiting ? { state: "POLLING" } : state;
}

const isRepeated = ({ status }: ServiceInstance | ServiceBinding): boolean => (status?.operation?.attempts ?? 0) > 0;

/** A later update or delete implies a successful create. */
function creationState(last: LastOperation): BrokerJobState {
  return last.type === "create" ? stateOf(last) : COMPLETE;
}

/** Reasons of Ready for an update that the broker is not asked for. */
const REFUSALS: ReadonlySet<string> = new Set(["PlanMissing", QUOTA_EXCEEDED, PAID_PLAN_FORBIDDEN]);

function updateState(
  { generation = 0 }: BrokerJob,
  object: ServiceInstance | ServiceBinding,
  last: LastOperation,
): BrokerJobState {
  if (last.type === "update" && (last.generation ?? 0) >= generation) return stateOf(last);
  const { observedGeneration = 0, conditions = [] } = object.status ?? {};
  if (observedGeneration < generation) return PROCESSING;
  const refused = conditions.find(({ type, reason }) => type === "Ready" && REFUSALS.has(reason));
  // An update in which the controller found no difference is done.
  return refused ? failedOf("update", refused.message) : COMPLETE;
}

/** The failure of an attempt before the latest wish is not this one's. */
function deletionState(object: ServiceInstance | ServiceBinding): BrokerJobState {
  const { lastOperation: last, operation } = object.status ?? {};
  if (last?.type !== "delete") return PROCESSING;
  if (last.state === "failed" && !isHeard(object, operation)) return PROCESSING;
  const state = stateOf(last);
  // It is gone when its finalizer is.
  return state.state === "COMPLETE" ? PROCESSING : state;
}

function stateOf({ type, state, description }: LastOperation): BrokerJobState {
  switch (state) {
    case "initial":
      return PROCESSING;
    case "in progress":
      return { state: "POLLING" };
    case "succeeded":
      return COMPLETE;
    case "failed":
      return failedOf(type, description);
  }
}

function failedOf(verb: string, why: string): BrokerJobState {
  return { state: "FAILED", why: `${verb} could not be completed: ${why}` };
}
