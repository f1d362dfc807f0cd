// The instances of a plan or a broker, as the cache knows them: whoever only names a plan that is not theirs to order holds nothing.
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import type { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { mayOrder } from "../../../crds/service-plan/plan-use.ts";
import type { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { findBroker, offeringsOf, plansOf } from "./marketplace.ts";
import { offeringOf, orgNameOf } from "./catalog.ts";

/** Instances that the plan's broker has as that plan, or that may be ordered with it. */
export function instancesOfPlan(cache: ClusterCache, plan: ServicePlan): ServiceInstance[] {
  const { namespace = "", name } = plan.metadata;
  const instances = cache.store(ServiceInstance);
  const broker = findBroker(cache, offeringOf(cache, plan));
  const provided = broker ? providedBy(cache, broker) : [];
  return [
    ...new Set([
      ...provided.filter(({ status }) => status?.provided?.planID === plan.spec.catalogID),
      ...instances
        .byIndex("plan", `${namespace}/${name}`)
        .filter((one) => mayOrder(plan, one, (space) => orgNameOf(cache, space))),
    ]),
  ];
}

export function hasInstances(cache: ClusterCache, broker: ServiceBroker): boolean {
  return (
    providedBy(cache, broker).length > 0 ||
    offeringsOf(cache, broker)
      .flatMap((offering) => plansOf(cache, offering))
      .some((plan) => instancesOfPlan(cache, plan).length > 0)
  );
}

function providedBy(cache: ClusterCache, { metadata: { namespace, name } }: ServiceBroker): ServiceInstance[] {
  return cache.store(ServiceInstance).byIndex("broker", `${namespace}/${name}`);
}
