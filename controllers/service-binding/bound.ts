// A binding of a managed instance, and what its broker has to be told of it. The instance may be gone: the binding remembers.
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { ProvidedBy } from "../../crds/service-instance/managed-fields.ts";
import { isWithin, ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { resolveGUID } from "../shared/guid.ts";
import { findRestoredProvided } from "../shared/osb/wanted-plan.ts";
import { findProvidedPlan, type ProvidedPlan } from "../shared/osb/provided-plan.ts";

export interface Bound extends ProvidedPlan {
  binding: ServiceBinding;
  guid: string;
  instance: ServiceInstance | undefined;
  instanceGUID: string;
  provided: ProvidedBy;
}

/** Undefined for one of a user-provided instance, of none, of one that is not shared with this space, and of one that the broker was not asked for. */
export function findBound(binding: ServiceBinding, context: ReconcileContext): Bound | undefined {
  const instance = findInstance(binding, context);
  const provided = instance?.status?.provided ?? binding.status?.provided ?? findRestored(binding, instance, context);
  const instanceGUID = instance ? resolveGUID(ServiceInstance, instance, context).guid : binding.status?.instanceGUID;
  if (!provided || instanceGUID === undefined) return undefined;
  const { guid } = resolveGUID(ServiceBinding, binding, context);
  return { binding, guid, instance, instanceGUID, provided, ...findProvidedPlan(provided, context.read) };
}

/** A binding that is deleted at once, when a backup has brought it and its instance back without their status. @throws NotReady("PlanMissing") */
function findRestored(
  { metadata }: ServiceBinding,
  instance: ServiceInstance | undefined,
  { read }: ReconcileContext,
): ProvidedBy | undefined {
  return instance && metadata.deletionTimestamp ? findRestoredProvided(instance, read) : undefined;
}

/** Another instance of the same name, and one that does not belong to this space, are not the binding's. */
function findInstance(binding: ServiceBinding, context: ReconcileContext): ServiceInstance | undefined {
  const key = { namespace: instanceNamespaceOf(binding), name: binding.spec.instanceRef.name };
  const instance = context.read.find(ServiceInstance, key);
  if (!instance || instance.spec.type !== "managed") return undefined;
  const { lastOperation, instanceGUID } = binding.status ?? {};
  if (lastOperation === undefined) return isWithin(instance, binding.metadata.namespace) ? instance : undefined;
  const isSame = instanceGUID === undefined || instanceGUID === resolveGUID(ServiceInstance, instance, context).guid;
  return isSame ? instance : undefined;
}
