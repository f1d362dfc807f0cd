// The plan that a broker was last asked for, which may no longer be the one that the spec names, and its offering.
import type { ProvidedBy } from "../../../crds/service-instance/managed-fields.ts";
import { ServiceOffering } from "../../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import type { Reader } from "../../../kube/cache/reader.ts";

export interface ProvidedPlan {
  plan: ServicePlan | undefined;
  offering: ServiceOffering | undefined;
}

export function findProvidedPlan({ brokerRef, planObject }: ProvidedBy, read: Reader): ProvidedPlan {
  const { namespace = "" } = brokerRef;
  const plan = planObject === undefined ? undefined : read.find(ServicePlan, { namespace, name: planObject });
  const offering = plan && read.find(ServiceOffering, { namespace, name: plan.spec.offeringRef.name });
  return { plan, offering };
}
