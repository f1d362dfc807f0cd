// Makes a ServiceBinding its app's, which takes it along when it is deleted, and says whether the bound instance exists.
import { App } from "../../crds/app/app.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { isWithin, ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { defineController, NotReady, Stalled, watch } from "../../kube/controller/controller.ts";
import { getApp, indexByApp, mapAppToOwned, OWNING_APP_INDEX, toAppOwnership } from "../shared/app-owned.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { INSTANCE_INDEX, indexByInstance, instanceKey } from "../shared/binding-index.ts";

export const serviceBindingController = defineController({
  name: "service-binding",
  for: ServiceBinding,
  indexes: {
    [GUID_INDEX]: indexByGUID,
    [OWNING_APP_INDEX]: indexByApp,
    [INSTANCE_INDEX]: indexByInstance,
  },
  watches: [
    watch(App, mapAppToOwned),
    watch(ServiceInstance, ({ metadata }) => ({ [INSTANCE_INDEX]: instanceKey(metadata.namespace, metadata.name) })),
  ],

  reconcile(binding, context) {
    const { read } = context;
    const app = binding.spec.appRef && getApp(read, { ...binding, spec: { appRef: binding.spec.appRef } });
    const { labels } = resolveGUID(ServiceBinding, binding, context);
    requireInstance(binding, read);
    return app ? toAppOwnership(app, resolveGUID(App, app, context).guid, labels) : { labels };
  },
});

/** @throws NotReady, Stalled */
function requireInstance(binding: ServiceBinding, read: Reader): void {
  const { name } = binding.spec.instanceRef;
  const instance = read.find(ServiceInstance, { namespace: instanceNamespaceOf(binding), name });
  if (!instance || !isWithin(instance, binding.metadata.namespace))
    throw new NotReady(
      "InstanceMissing",
      `service instance ${name} does not exist in this namespace and is not shared with it; create it, or delete this binding`,
      { isFailure: true },
    );
  if (binding.spec.type === "key" && instance.spec.type !== "managed")
    throw new Stalled("KeyNotSupported", `service instance ${name} is user-provided, and only managed ones have keys`);
  if (instance.spec.type === "managed") requireProvided(binding);
}

/** Result of managed.ts. @throws NotReady */
function requireProvided({ status }: ServiceBinding): void {
  const provided = status?.conditions?.find(({ type }) => type === "Provided");
  if (provided?.status === "True") return;
  const { reason = "OperationInProgress", message = "the service broker has not been asked yet" } = provided ?? {};
  throw new NotReady(reason, message, { isFailure: status?.lastOperation?.state === "failed" });
}
