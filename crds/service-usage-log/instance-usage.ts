// Members of a service instance in usage events. Pure.
import { guidOf } from "../guid.ts";
import { displayNameOf } from "../object-names.ts";
import type { ServiceBroker } from "../service-broker/service-broker.ts";
import type { ServiceInstance } from "../service-instance/service-instance.ts";
import type { ServiceOffering } from "../service-offering/service-offering.ts";
import type { ServicePlan } from "../service-plan/service-plan.ts";
import type { ServiceUsage } from "./rules.ts";

/** Plan, offering and broker of a managed instance; those that are gone are undefined. */
export interface InstanceCatalog {
  plan: ServicePlan | undefined;
  offering: ServiceOffering | undefined;
  broker: ServiceBroker | undefined;
}

export function toServiceUsage(
  instance: ServiceInstance,
  { plan, offering, broker }: InstanceCatalog,
  place: Pick<ServiceUsage, "space" | "orgGUID">,
): ServiceUsage {
  return {
    ...place,
    instance: { guid: guidOf(instance), name: displayNameOf(instance) },
    type: instance.spec.type,
    ...(plan && { plan: { guid: guidOf(plan), name: plan.spec.name } }),
    ...(offering && { offering: { guid: guidOf(offering), name: offering.spec.name } }),
    ...(broker && { broker: { guid: guidOf(broker), name: broker.spec.name } }),
  };
}

/** Is it in force? A managed one is from its first request to the broker on, another one unless its name is taken. */
export function isInForce({ spec, status }: Pick<ServiceInstance, "spec" | "status">): boolean {
  if (spec.type === "managed") return status?.provided !== undefined;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready !== undefined && ready.reason !== "NameTaken";
}
