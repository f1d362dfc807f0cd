// Members of the catalog that `fields` adds to service instances: their plans, offerings and brokers.
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { brokerOf, offeringOf, planOf } from "../cf/service/catalog.ts";
import { toOneRelationship } from "../http/presentation.ts";
import type { InstanceFields } from "./payload.ts";

const OFFERING = "fields[service_plan.service_offering]";
const BROKER = "fields[service_plan.service_offering.service_broker]";

export function catalogFields(
  cache: ClusterCache,
  instances: readonly ServiceInstance[],
  fields: InstanceFields,
): object {
  const plans = distinct(instances, (one) => planOf(cache, one));
  const offerings = distinct(plans, (one) => offeringOf(cache, one));
  const brokers = distinct(offerings, (one) => brokerOf(cache, one));
  const { "fields[service_plan]": planFields, [OFFERING]: offeringFields, [BROKER]: brokerFields } = fields;
  return {
    ...(planFields && { service_plans: plans.map((one) => planOfFields(cache, one, planFields)) }),
    ...(offeringFields && { service_offerings: offerings.map((one) => offeringOfFields(cache, one, offeringFields)) }),
    ...(brokerFields && {
      service_brokers: brokers.map((one) =>
        pick({ guid: cache.guid(ServiceBroker, one), name: one.spec.name }, brokerFields),
      ),
    }),
  };
}

function distinct<From, To>(all: readonly From[], next: (one: From) => To | undefined): To[] {
  return [...new Set(all.flatMap((one) => next(one) ?? []))];
}

function planOfFields(cache: ClusterCache, plan: ServicePlan, names: readonly string[]): object {
  const offering = offeringOf(cache, plan);
  return {
    ...pick({ guid: cache.guid(ServicePlan, plan), name: plan.spec.name }, names),
    ...(names.includes("relationships.service_offering") && {
      relationships: { service_offering: toOneRelationship(offering && cache.guid(ServiceOffering, offering)) },
    }),
  };
}

function offeringOfFields(cache: ClusterCache, offering: ServiceOffering, names: readonly string[]): object {
  const { name, description, documentationURL, tags } = offering.spec;
  const broker = brokerOf(cache, offering);
  const guid = cache.guid(ServiceOffering, offering);
  return {
    ...pick({ guid, name, description, documentation_url: documentationURL ?? "", tags: [...tags] }, names),
    ...(names.includes("relationships.service_broker") && {
      relationships: { service_broker: toOneRelationship(broker && cache.guid(ServiceBroker, broker)) },
    }),
  };
}

export function pick(values: Record<string, unknown>, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}
