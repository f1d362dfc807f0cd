// Which instances use a plan: those that a broker has, and those that may order it. Whoever only names a plan holds nothing of its broker. Pure.
import type { ServiceInstance } from "../service-instance/service-instance.ts";
import type { ServicePlan } from "./service-plan.ts";
import { isUsableIn } from "./visibility.ts";

type Instance = Pick<ServiceInstance, "metadata" | "spec" | "status">;

/** `namespace/name` of the plan that an instance asks for. */
export function wantedPlanKey({ metadata, spec: { planRef } }: Instance): string | undefined {
  return planRef && `${planRef.namespace ?? metadata.namespace ?? ""}/${planRef.name}`;
}

/** `namespace/name` of the broker that was asked for the instance. */
export function providingBrokerKey({ metadata, status }: Instance): string | undefined {
  const ref = status?.provided?.brokerRef;
  return ref && `${ref.namespace ?? metadata.namespace ?? ""}/${ref.name}`;
}

/** May the instance, which asks for the plan, be ordered with it? `orgOf` gives the object name of a space's org. */
export function mayOrder(plan: ServicePlan, { metadata }: Instance, orgOf: (namespace: string) => string): boolean {
  const { namespace = "" } = metadata;
  return isUsableIn(plan, { namespace, org: orgOf(namespace) });
}
