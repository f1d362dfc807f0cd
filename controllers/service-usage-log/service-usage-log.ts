// Service instances that exist, for usage events: with the names and GUIDs that an event shows. Only reads.
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { isInForce, toServiceUsage, type InstanceCatalog } from "../../crds/service-usage-log/instance-usage.ts";
import type { ServiceUsage } from "../../crds/service-usage-log/rules.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { findProvidedPlan } from "../shared/osb/provided-plan.ts";
import { findTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";

/** The kinds that are read here. */
export const SERVICE_USAGE_KINDS: readonly ResourceRef[] = [
  ServiceBroker,
  ServiceOffering,
  ServicePlan,
  ...TENANCY_KINDS,
];

/** `waiting`: it cannot be said yet, for want of its space, or since it is not in force. */
export function observeInstance(read: Reader, instance: ServiceInstance): ServiceUsage | "waiting" {
  const tenancy = findTenancy(read, instance.metadata.namespace ?? "");
  if (!tenancy || !isInForce(instance)) return "waiting";
  return toServiceUsage(instance, findCatalog(read, instance), { space: tenancy.space, orgGUID: tenancy.org.guid });
}

function findCatalog(read: Reader, { metadata, status }: ServiceInstance): InstanceCatalog {
  const provided = status?.provided;
  if (!provided) return { plan: undefined, offering: undefined, broker: undefined };
  const { namespace = metadata.namespace ?? "", name } = provided.brokerRef;
  const { plan, offering } = findProvidedPlan({ ...provided, brokerRef: { name, namespace } }, read);
  return { plan, offering, broker: read.find(ServiceBroker, { namespace, name }) };
}
