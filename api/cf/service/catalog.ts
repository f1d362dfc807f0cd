// The plan, offering and broker of a managed instance, as the cache knows them.
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import type { PlanEntry } from "../../../crds/service-instance/pending-update.ts";
import type { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { isUsableIn } from "../../../crds/service-plan/visibility.ts";
import type { ClusterCache, ObjectFinder } from "../../cache/cluster-cache.ts";
import type { Session } from "../../access/session.ts";
import { unprocessable } from "../../http/errors.ts";

/** The plan that the broker has, or that a new instance asks for; undefined for one that has left the catalog. */
export function planOf(cache: ObjectFinder, { metadata, spec, status }: ServiceInstance): ServicePlan | undefined {
  const { planRef } = spec;
  const namespace = planRef?.namespace ?? metadata.namespace ?? "";
  return planRef && cache.store(ServicePlan).find({ namespace, name: status?.provided?.planObject ?? planRef.name });
}

/** The plan that the spec names, with its offering. */
export function findWantedEntry(cache: ObjectFinder, { metadata, spec }: ServiceInstance): PlanEntry | undefined {
  const { planRef } = spec;
  const namespace = planRef?.namespace ?? metadata.namespace ?? "";
  const plan = planRef && cache.store(ServicePlan).find({ namespace, name: planRef.name });
  const offering = plan && offeringOf(cache, plan);
  return plan && offering && { plan, offering };
}

export function offeringOf(cache: ObjectFinder, plan: ServicePlan): ServiceOffering | undefined {
  const { metadata, spec } = plan;
  return cache.store(ServiceOffering).find({ namespace: metadata.namespace ?? "", name: spec.offeringRef.name });
}

export function brokerOf(cache: ObjectFinder, { metadata, spec }: ServiceOffering): ServiceBroker | undefined {
  return cache.store(ServiceBroker).find({ namespace: metadata.namespace ?? "", name: spec.brokerRef.name });
}

/** Is it of a space's own broker, whose developers may do more? */
export function isOfSpaceBroker({ spec, metadata }: ServiceInstance): boolean {
  const namespace = spec.planRef?.namespace ?? metadata.namespace;
  return spec.planRef !== undefined && namespace !== SYSTEM_NAMESPACE;
}

/** The plan of that GUID, for an instance in a space's namespace. @throws CFError 422 */
export function getUsablePlan({ cache }: Pick<Session, "cache">, guid: string, namespace: string): ServicePlan {
  const plan = cache.findByGUID(ServicePlan, guid);
  const org = orgNameOf(cache, namespace);
  if (!plan?.spec.available || !isUsableIn(plan, { namespace, org }) || !isTakingOrders(cache, plan))
    throw unprocessable(
      "Invalid service plan. Ensure that the service plan exists, is available, and you have access to it.",
    );
  return plan;
}

/** A broker that is gone or being deleted takes no new instances. */
function isTakingOrders(cache: ClusterCache, plan: ServicePlan): boolean {
  const offering = offeringOf(cache, plan);
  const broker = offering && brokerOf(cache, offering);
  return broker !== undefined && broker.metadata.deletionTimestamp === undefined;
}

/** Object name of the org of a space's namespace; "" for any other namespace. */
export function orgNameOf(cache: ClusterCache, namespace: string): string {
  const org = cache.orgOf(cache.spaceOf(namespace)?.metadata.namespace);
  return org?.metadata.name ?? "";
}
