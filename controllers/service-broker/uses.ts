// Which instances are a broker's, or of a plan: by the plan that they ask for, and by what the broker was last asked for.
import type { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import type { Reader } from "../../kube/cache/reader.ts";

/** Index of instances by what they use. */
export const BROKER_USE_INDEX = "controllers/broker-use";

const planKey = (namespace: string, name: string): string => `plan ${namespace}/${name}`;
const brokerKey = (namespace: string, name: string): string => `broker ${namespace}/${name}`;

interface Used {
  plan?: { namespace: string; name: string };
  provided?: { broker: { namespace: string; name: string }; planID: string };
}

function usesOf({ metadata: { namespace = "" }, spec: { planRef }, status }: ServiceInstance): Used {
  const provided = status?.provided;
  return {
    ...(planRef && { plan: { namespace: planRef.namespace ?? namespace, name: planRef.name } }),
    ...(provided && {
      provided: {
        broker: { namespace: provided.brokerRef.namespace ?? namespace, name: provided.brokerRef.name },
        planID: provided.planID,
      },
    }),
  };
}

/** The index function of `BROKER_USE_INDEX`. */
export function indexByUse(instance: ServiceInstance): string[] {
  const { plan, provided } = usesOf(instance);
  return [
    ...(plan ? [planKey(plan.namespace, plan.name)] : []),
    ...(provided ? [brokerKey(provided.broker.namespace, provided.broker.name)] : []),
  ];
}

/** The broker that an instance is of, or is to be of; undefined when nothing says. */
export function brokerOf(instance: ServiceInstance, read: Reader): { namespace: string; name: string } | undefined {
  const { plan: planRef, provided } = usesOf(instance);
  if (provided) return provided.broker;
  const plan = planRef && read.find(ServicePlan, planRef);
  if (!plan) return undefined;
  const { namespace } = planRef;
  const offering = read.find(ServiceOffering, { namespace, name: plan.spec.offeringRef.name });
  return offering && { namespace, name: offering.spec.brokerRef.name };
}

/** Does an instance ask for the plan, or has it still? */
export function isPlanInUse({ metadata, spec }: ServicePlan, broker: ServiceBroker, read: Reader): boolean {
  const { namespace = "", name } = metadata;
  if (read.byIndex(ServiceInstance, BROKER_USE_INDEX, planKey(namespace, name)).length > 0) return true;
  return listProvided(broker, read).some(({ status }) => status?.provided?.planID === spec.catalogID);
}

function listProvided({ metadata: { namespace = "", name } }: ServiceBroker, read: Reader): readonly ServiceInstance[] {
  return read.byIndex(ServiceInstance, BROKER_USE_INDEX, brokerKey(namespace, name));
}

/** All instances that the broker has, or is to have. */
export function listInstancesOf(broker: ServiceBroker, read: Reader): ServiceInstance[] {
  const ofPlans = planKeysOf(broker, read).flatMap((key) => read.byIndex(ServiceInstance, BROKER_USE_INDEX, key));
  return [...new Map([...listProvided(broker, read), ...ofPlans].map((one) => [one.metadata.uid, one])).values()];
}

/** The same of instances that the cache may not have yet. */
export function filterInstancesOf(
  broker: ServiceBroker,
  read: Reader,
  instances: readonly ServiceInstance[],
): ServiceInstance[] {
  const { namespace = "", name } = broker.metadata;
  const keys = new Set([...planKeysOf(broker, read), brokerKey(namespace, name)]);
  return instances.filter((instance) => indexByUse(instance).some((key) => keys.has(key)));
}

function planKeysOf(broker: ServiceBroker, read: Reader): string[] {
  const { namespace = "", name } = broker.metadata;
  const offerings = read.list(ServiceOffering, { namespace }).filter(({ spec }) => spec.brokerRef.name === name);
  const names = new Set(offerings.map(({ metadata }) => metadata.name));
  const plans = read.list(ServicePlan, { namespace }).filter(({ spec }) => names.has(spec.offeringRef.name));
  return plans.map(({ metadata }) => planKey(namespace, metadata.name));
}
