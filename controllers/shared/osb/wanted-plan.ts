// The plan that a managed instance asks for, what its broker has once it is made, and the broker of an instance that a backup brought back without its status.
import { isRestored } from "../../../crds/guid.ts";
import { displayNameOf } from "../../../crds/object-names.ts";
import type { ProvidedBy } from "../../../crds/service-instance/managed-fields.ts";
import type { PlanEntry } from "../../../crds/service-instance/pending-update.ts";
import type { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { isUsableIn } from "../../../crds/service-plan/visibility.ts";
import type { Reader } from "../../../kube/cache/reader.ts";
import { NotReady } from "../../../kube/controller/controller.ts";
import { findTenancy } from "../tenancy.ts";

/** Until the plan of a restored instance is looked for again. */
const RESTORED_MS = 30_000;

/** The plan that the spec names, with its offering. */
export function readEntry({ metadata, spec: { planRef } }: ServiceInstance, read: Reader): PlanEntry | undefined {
  const namespace = planRef?.namespace ?? metadata.namespace ?? "";
  const plan = planRef && read.find(ServicePlan, { namespace, name: planRef.name });
  const offering = plan && read.find(ServiceOffering, { namespace, name: plan.spec.offeringRef.name });
  return plan && offering && { plan, offering };
}

/** Is the plan for the instance's space? */
export function isOfPlan({ metadata: { namespace = "" } }: ServiceInstance, plan: ServicePlan, read: Reader): boolean {
  const org = findTenancy(read, namespace)?.orgObjectName ?? "";
  return isUsableIn(plan, { namespace, org });
}

/**
 * The plan of an instance that was restored without its status: a user who may order the plan now may delete the instance at the broker. Undefined where
 * no broker was asked: earlier versions gave the finalizer to instances that wait for a plan, too. @throws NotReady("PlanMissing")
 */
function findRestored(instance: ServiceInstance, read: Reader): PlanEntry | undefined {
  const entry = readEntry(instance, read);
  if (entry && isOfPlan(instance, entry.plan, read)) return entry;
  if (!isRestored(instance)) return undefined;
  const { name } = instance.spec.planRef ?? { name: "" };
  throw new NotReady(
    "PlanMissing",
    `nothing says at which service broker this is to be deleted: it has no status, and its plan ${name} does not exist or is not for this space; create the plan again, or purge this`,
    { isFailure: true, requeueAfterMs: RESTORED_MS },
  );
}

/** The broker of an instance that was restored without its status, as that of the plan that it asks for. Undefined for one that no broker has. @throws NotReady("PlanMissing") */
export function findRestoredProvided(instance: ServiceInstance, read: Reader): ProvidedBy | undefined {
  const entry = findRestored(instance, read);
  return entry && toTarget(instance, entry);
}

/** State at the broker once it has fulfilled the spec. */
export function toTarget(instance: ServiceInstance, { plan, offering }: PlanEntry): ProvidedBy {
  const parameters = instance.spec.parametersSecretRef?.name ?? instance.status?.provided?.parametersSecret;
  const version = instance.spec.maintenanceVersion ?? versionWithout(instance.status?.provided, plan);
  const { tags } = offering.spec;
  return {
    ...(tags.length > 0 && { offeringTags: tags }),
    ...toCatalogIDs({ plan, offering }),
    name: displayNameOf(instance),
    ...(parameters !== undefined && { parametersSecret: parameters }),
    ...(version !== undefined && { maintenanceVersion: version }),
  };
}

function toCatalogIDs({ plan, offering }: PlanEntry) {
  return {
    brokerRef: { namespace: offering.metadata.namespace ?? "", name: offering.spec.brokerRef.name },
    offeringID: offering.spec.catalogID,
    planID: plan.spec.catalogID,
    planObject: plan.metadata.name,
    offeringName: offering.spec.name,
    planName: plan.spec.name,
  };
}

/** The version when the spec names none: the newest with another plan, else as it is. */
function versionWithout(before: ProvidedBy | undefined, plan: ServicePlan): string | undefined {
  return before?.planID === plan.spec.catalogID ? before.maintenanceVersion : plan.spec.maintenanceInfo?.version;
}
