// Which instances are a broker's, or of a plan: what the broker was last asked for, and what asks for a plan that it may have.
import type { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { mayOrder, providingBrokerKey, wantedPlanKey } from "../../crds/service-plan/plan-use.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { findTenancy } from "../shared/tenancy.ts";

/** Index of instances by what they use. */
export const BROKER_USE_INDEX = "controllers/broker-use";

const planKey = (key: string): string => `plan ${key}`;
const brokerKey = (key: string): string => `broker ${key}`;
const keyOf = ({ metadata: { namespace = "", name } }: ServiceBroker | ServicePlan): string => `${namespace}/${name}`;

/** The index function of `BROKER_USE_INDEX`. */
export function indexByUse(instance: ServiceInstance): string[] {
  const [plan, broker] = [wantedPlanKey(instance), providingBrokerKey(instance)];
  return [...(plan === undefined ? [] : [planKey(plan)]), ...(broker === undefined ? [] : [brokerKey(broker)])];
}

/** The broker that an instance is of, or is to be of; undefined when nothing says. */
export function brokerOf(instance: ServiceInstance, read: Reader): { namespace: string; name: string } | undefined {
  const key = providingBrokerKey(instance);
  if (key !== undefined) return toKey(key);
  const wanted = wantedPlanKey(instance);
  const plan = wanted === undefined ? undefined : read.find(ServicePlan, toKey(wanted));
  if (!plan) return undefined;
  const { namespace = "" } = plan.metadata;
  const offering = read.find(ServiceOffering, { namespace, name: plan.spec.offeringRef.name });
  return offering && { namespace, name: offering.spec.brokerRef.name };
}

function toKey(key: string): { namespace: string; name: string } {
  const [namespace = "", name = ""] = key.split("/");
  return { namespace, name };
}

/** Does the broker have an instance as one of the plan, or may one that asks for the plan have it? */
export function isPlanInUse(plan: ServicePlan, broker: ServiceBroker, read: Reader): boolean {
  const { catalogID } = plan.spec;
  return (
    listProvided(broker, read).some(({ status }) => status?.provided?.planID === catalogID) ||
    listAsking(plan, read).length > 0
  );
}

function listProvided(broker: ServiceBroker, read: Reader): readonly ServiceInstance[] {
  return read.byIndex(ServiceInstance, BROKER_USE_INDEX, brokerKey(keyOf(broker)));
}

function listAsking(plan: ServicePlan, read: Reader): ServiceInstance[] {
  return read
    .byIndex(ServiceInstance, BROKER_USE_INDEX, planKey(keyOf(plan)))
    .filter((one) => mayOrder(plan, one, orgIn(read)));
}

const orgIn =
  (read: Reader) =>
  (namespace: string): string =>
    findTenancy(read, namespace)?.orgObjectName ?? "";

/** All instances that the broker has or, `withAsking`, may be about to be asked for. */
export function listInstancesOf(broker: ServiceBroker, read: Reader, withAsking: boolean): ServiceInstance[] {
  const asking = withAsking ? listPlans(broker, read).flatMap((plan) => listAsking(plan, read)) : [];
  return [...new Map([...listProvided(broker, read), ...asking].map((one) => [one.metadata.uid, one])).values()];
}

/** The same of instances and plans that the cache may not have yet, such as a plan that was enabled just before. */
export function filterInstancesOf(
  broker: ServiceBroker,
  read: Reader,
  { instances, plans }: { instances: readonly ServiceInstance[]; plans: readonly ServicePlan[] },
): ServiceInstance[] {
  const ownPlans = new Map(filterPlansOf(broker, plans, read).map((plan) => [keyOf(plan), plan]));
  return instances.filter((instance) => {
    if (providingBrokerKey(instance) === keyOf(broker)) return true;
    const plan = ownPlans.get(wantedPlanKey(instance) ?? "");
    return plan !== undefined && mayOrder(plan, instance, orgIn(read));
  });
}

function listPlans(broker: ServiceBroker, read: Reader): ServicePlan[] {
  return filterPlansOf(broker, read.list(ServicePlan, { namespace: broker.metadata.namespace ?? "" }), read);
}

function filterPlansOf(
  { metadata: { namespace = "", name } }: ServiceBroker,
  plans: readonly ServicePlan[],
  read: Reader,
): ServicePlan[] {
  const offerings = read.list(ServiceOffering, { namespace }).filter(({ spec }) => spec.brokerRef.name === name);
  const names = new Set(offerings.map(({ metadata }) => metadata.name));
  return plans.filter(({ metadata, spec }) => metadata.namespace === namespace && names.has(spec.offeringRef.name));
}
