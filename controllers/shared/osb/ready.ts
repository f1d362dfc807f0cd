// Ready conditions of operations at a broker. Pure.
import type { LastOperation } from "../../../crds/service-instance/managed-fields.ts";
import type { ConditionDraft, ReadyDraft } from "../../../kube/controller/controller.ts";
import type { Provided } from "./provided.ts";

const REASONS = { create: "ProvisionFailed", update: "UpdateFailed", delete: "DeprovisionFailed" } as const;

export function underWay({ type }: LastOperation): ReadyDraft {
  return { status: "False", reason: "OperationInProgress", message: `the service broker's ${type} is under way` };
}

/** Ready of an operation that has failed. */
export function failedReady({ type, description }: LastOperation): ReadyDraft {
  const stop = /[.!?]$/.test(description) ? "" : ".";
  const next = type === "create" ? `${stop} Delete it, and create it again.` : "";
  return { status: "False", reason: REASONS[type], message: `${description}${next}`, isFailure: true };
}

/** Ready while the broker cannot take the request. */
export function laterReady(message: string): ReadyDraft {
  return { status: "False", reason: "BrokerNotReady", message, isFailure: true };
}

/** In CF's words. */
export function notInTime({ removal }: Pick<Provided, "removal">, type: LastOperation["type"]): string {
  const create = removal === "unbind" ? "bind" : "provision";
  const asked = { create, update: "update", delete: removal }[type];
  return `Service Broker failed to ${asked} within the required time.`;
}

/** While the broker may have what a failed creation has made. */
export function orphanedCondition(how: string): ConditionDraft {
  return {
    type: "Orphaned",
    status: "True",
    reason: "TakingBack",
    message: `what the failed creation may have made is being deleted at the service broker: ${how}`,
  };
}

export const TAKEN_BACK: ConditionDraft = {
  type: "Orphaned",
  status: "False",
  reason: "TakenBack",
  message: "the service broker has nothing of the failed creation",
};
