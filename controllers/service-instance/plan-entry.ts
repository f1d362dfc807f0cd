// The plan of a managed instance in the catalog, and why it may not be used.
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { PlanEntry } from "../../crds/service-instance/pending-update.ts";
import type { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { forbidsPaid, PAID_PLAN_FORBIDDEN, QUOTA_EXCEEDED } from "../../crds/org-quota/counts.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import { findFullQuota, type CountedKind } from "../shared/counted-quotas.ts";
import { listQuotas } from "../shared/quotas.ts";
import { isOfPlan, readEntry } from "../shared/osb/wanted-plan.ts";

/** A provisioned plan stays valid when no longer visible. */
export function findEntry(instance: ServiceInstance, read: Reader): { entry?: PlanEntry; problem?: ReadyDraft } {
  const entry = readEntry(instance, read);
  if (!entry) return { problem: planMissing(instance, "does not exist") };
  // First: brokers choose the catalog's ids, so another broker's plan may have the same.
  if (isOtherOffering(instance, entry)) return { problem: planMissing(instance, "is of another offering") };
  const { provided } = instance.status ?? {};
  if (provided?.planID === entry.plan.spec.catalogID) return { entry };
  if (!isOrderable(instance, entry.plan, read))
    return { problem: planMissing(instance, "is not available in this space") };
  if (!provided && !isTakingOrders(entry, read))
    return { problem: planMissing(instance, "is of a service broker that is gone or being deleted") };
  const problem = findQuotaProblem(instance, entry, read);
  return problem ? { problem } : { entry };
}

const INSTANCES: CountedKind<ServiceInstance> = {
  ref: ServiceInstance,
  limit: "totalServiceInstances",
  noun: "service instances of brokers",
  reason: QUOTA_EXCEEDED,
  counts: ({ spec }) => spec.type === "managed",
  isInForce: ({ status }) => status?.lastOperation !== undefined,
};

/** Quotas forbid more instances, or paid plans. */
function findQuotaProblem(instance: ServiceInstance, { plan }: PlanEntry, read: Reader): ReadyDraft | undefined {
  const { namespace = "" } = instance.metadata;
  if (plan.spec.free || !forbidsPaid(...listQuotas(read, namespace))) return findFullQuota(instance, INSTANCES, read);
  const message = `service plan ${plan.spec.name} is paid, and a quota allows none; choose a free one, or have the quota changed`;
  return { status: "False", reason: PAID_PLAN_FORBIDDEN, message, isFailure: true };
}

/** A new instance would hold a broker that is to go. */
function isTakingOrders({ offering: { metadata, spec } }: PlanEntry, read: Reader): boolean {
  const { namespace = "" } = metadata;
  const broker = read.find(ServiceBroker, { namespace, name: spec.brokerRef.name });
  return broker !== undefined && broker.metadata.deletionTimestamp === undefined;
}

function isOrderable(instance: ServiceInstance, plan: ServicePlan, read: Reader): boolean {
  return plan.spec.available && isOfPlan(instance, plan, read);
}

/** Its broker made it as one of an offering. */
function isOtherOffering({ status }: ServiceInstance, { offering }: PlanEntry): boolean {
  const provided = status?.provided;
  if (!provided) return false;
  return (
    provided.offeringID !== offering.spec.catalogID ||
    provided.brokerRef.name !== offering.spec.brokerRef.name ||
    provided.brokerRef.namespace !== offering.metadata.namespace
  );
}

function planMissing({ spec: { planRef } }: ServiceInstance, why: string): ReadyDraft {
  const message = `service plan ${planRef?.name ?? ""} ${why}; choose another one`;
  return { status: "False", reason: "PlanMissing", message, isFailure: true };
}
