// Whether a managed instance's spec asks its broker for a change, and whether that is still to come. API and controller judge by the same rule. Pure.
import { displayNameOf } from "../object-names.ts";
import type { ServiceOffering } from "../service-offering/service-offering.ts";
import type { ServicePlan } from "../service-plan/service-plan.ts";
import { isAtBroker, type ProvidedBy } from "./managed-fields.ts";
import type { ServiceInstance } from "./service-instance.ts";

/** A plan as the catalog has it. */
export interface PlanEntry {
  plan: ServicePlan;
  offering: ServiceOffering;
}

/** Does the broker not have what the spec says? Without an entry its plan is unknown, which is a change once it is known. */
export function isChanged(instance: ServiceInstance, entry: PlanEntry | undefined): boolean {
  const { spec, status } = instance;
  const provided = status?.provided;
  if (!provided) return false;
  if (isOther(spec.parametersSecretRef?.name, provided.parametersSecret)) return true;
  if (isOther(spec.maintenanceVersion, provided.maintenanceVersion)) return true;
  return entry ? isOtherPlanOrName(instance, entry, provided) : isPlanUnknown(instance, provided);
}

/** Is `wanted` given, and another value than the current one? */
export const isOther = (wanted: string | undefined, current: string | undefined): boolean =>
  wanted !== undefined && wanted !== current;

function isOtherPlanOrName(instance: ServiceInstance, { plan, offering }: PlanEntry, provided: ProvidedBy): boolean {
  if (plan.spec.catalogID !== provided.planID) return true;
  return offering.spec.allowContextUpdates && displayNameOf(instance) !== provided.name;
}

/** A vanished plan is no change; another one that may not be used is one that is refused. */
function isPlanUnknown({ spec }: ServiceInstance, provided: ProvidedBy): boolean {
  return spec.planRef?.name !== provided.planObject;
}

/**
 * Is an operation under way, or will one be once the controller has seen the spec? With the controller's look at the spec an operation begins, or the change is
 * refused: its plan is missing, a quota is full, the broker has refused it before.
 */
export function isBusy(instance: ServiceInstance, entry: PlanEntry | undefined): boolean {
  const { metadata, status } = instance;
  if (metadata.deletionTimestamp || !status?.lastOperation) return true;
  if (isAtBroker(status)) return true;
  // Another change replaces what the broker has not taken so far.
  if (status.lastOperation.state === "initial") return false;
  const isSeen = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return !isSeen && isChanged(instance, entry);
}
