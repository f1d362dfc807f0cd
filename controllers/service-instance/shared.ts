// Shared service instances: members of the spaces that an instance is shared with may read it, where its catalog allows that.
import { LABELS } from "../../crds/labels.ts";
import { findSharingProblem } from "../../crds/service-instance/sharing.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { Namespace, Role, RoleBinding } from "../../kube/api/builtin.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { defineController, watch } from "../../kube/controller/controller.ts";
import { findProvidedPlan, type ProvidedPlan } from "../shared/osb/provided-plan.ts";
import { findTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import { planSharedReaders, type SharedPlace } from "./plan-sharing.ts";

const SHARED_INDEX = "controllers/instance-shared-with";
const PROVIDED_PLAN_INDEX = "controllers/provided-plan";

/** Indexes shared instances only: changes of a catalog concern few. */
function indexByProvidedPlan({ spec, status }: ServiceInstance): string[] {
  const { brokerRef, planObject = "" } = status?.provided ?? {};
  return (spec.sharedSpaces ?? []).length > 0 && brokerRef ? [`${brokerRef.namespace ?? ""}/${planObject}`] : [];
}

export const sharedInstanceController = defineController({
  name: "shared-service-instance",
  for: ServiceInstance,
  selects: ({ spec }: ServiceInstance) => spec.type === "managed",
  // Ready is the other controller's.
  condition: "Shared",
  owns: [Role, RoleBinding],
  reads: TENANCY_KINDS,
  indexes: {
    [SHARED_INDEX]: ({ spec }: ServiceInstance) => spec.sharedSpaces ?? [],
    [PROVIDED_PLAN_INDEX]: indexByProvidedPlan,
  },
  watches: [
    watch(RoleBinding, ({ metadata }) =>
      metadata.labels?.[LABELS.managedBy] === undefined ? { [SHARED_INDEX]: metadata.namespace ?? "" } : [],
    ),
    watch(Namespace, ({ metadata }) => ({ [SHARED_INDEX]: metadata.name })),
    watch(ServicePlan, ({ metadata }) => ({ [PROVIDED_PLAN_INDEX]: `${metadata.namespace ?? ""}/${metadata.name}` })),
    watch(ServiceOffering, ({ metadata: { namespace, name } }, read) => ({
      [PROVIDED_PLAN_INDEX]: read
        .list(ServicePlan, { namespace })
        .filter(({ spec }) => spec.offeringRef.name === name)
        .map(({ metadata }) => `${namespace ?? ""}/${metadata.name}`),
    })),
  ],

  reconcile(instance, { read }) {
    const { spec, status } = instance;
    const provided = status?.provided && findProvidedPlan(status.provided, read);
    const places = (spec.sharedSpaces ?? []).map((namespace) => toPlace(namespace, provided, read));
    const { children, shared } = planSharedReaders(instance, places);
    return shared ? { children, ready: shared } : { children, keepStatus: true };
  },
});

function toPlace(namespace: string, provided: ProvidedPlan | undefined, read: Reader): SharedPlace {
  const tenancy = findTenancy(read, namespace);
  const problem = tenancy && provided && findSharingProblem(provided, { namespace, org: tenancy.orgObjectName });
  return {
    namespace,
    problem: tenancy ? (provided ? problem : "notMade") : "noSpace",
    bindings: read.list(RoleBinding, { namespace }),
  };
}
