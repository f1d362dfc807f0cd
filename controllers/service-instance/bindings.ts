// The bindings of a managed instance: they go before it, and where it is no longer shared. Those that wait for it are left alone.
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { isWithin, ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { FinalizeResult, ReconcileContext } from "../../kube/controller/controller.ts";
import { INSTANCE_INDEX, instanceKey } from "../shared/binding-index.ts";
import { listLive } from "../shared/list-live.ts";
import { planFailedUnbind } from "./failed-unbind.ts";

type Context = Pick<ReconcileContext, "read" | "client" | "now">;

export function listBindings({ metadata }: ServiceInstance, { read }: Pick<Context, "read">): ServiceBinding[] {
  return read.byIndex(ServiceBinding, INSTANCE_INDEX, instanceKey(metadata.namespace, metadata.name));
}

/** Those that the cache may not have yet, too. */
async function listLiveBindings({ metadata }: ServiceInstance, context: Context): Promise<ServiceBinding[]> {
  const { namespace, name } = metadata;
  const bindings = await listLive(ServiceBinding, context);
  return bindings.filter((one) => one.spec.instanceRef.name === name && instanceNamespaceOf(one) === namespace);
}

/** The end of each is an event of the instance. Undefined when none is left. */
export async function removeBindings(instance: ServiceInstance, context: Context): Promise<FinalizeResult> {
  const cached = listBindings(instance, context);
  const left = cached.length > 0 ? cached : await listLiveBindings(instance, context);
  if (left.length === 0) return undefined;
  await remove(left, context);
  const failure = planFailedUnbind(instance, left, context.now());
  const message = failure?.lastOperation.description ?? `${left.length} bindings are being deleted first`;
  return {
    ...(failure && { status: { ...failure } }),
    ready: { status: "False", reason: "BindingsLeft", message, ...(failure && { isFailure: true }) },
  };
}

/** Bindings of spaces with which the instance is no longer shared. One that the broker was not asked for may wait for that. */
export async function removeUnshared(instance: ServiceInstance, context: Context): Promise<void> {
  const unshared = listBindings(instance, context).filter(
    ({ metadata, status }) => status?.lastOperation !== undefined && !isWithin(instance, metadata.namespace),
  );
  if (unshared.every(({ metadata }) => metadata.deletionTimestamp)) return;
  // The cache may not know yet that it is shared.
  const live = await context.client.get(ServiceInstance, instance.metadata);
  await remove(
    unshared.filter(({ metadata }) => !isWithin(live, metadata.namespace)),
    context,
  );
}

async function remove(bindings: readonly ServiceBinding[], { client }: Pick<Context, "client">): Promise<void> {
  for (const { metadata } of bindings.filter((one) => !one.metadata.deletionTimestamp))
    await client.delete(ServiceBinding, { namespace: metadata.namespace ?? "", name: metadata.name });
}

/** Does the broker do something with one of them that it has not finished? */
export function isBindingUnderWay(bindings: readonly ServiceBinding[]): boolean {
  return bindings.some(({ status }) => status?.lastOperation?.state === "in progress");
}
