// Makes a ServiceBinding its app's, which takes it along when it is deleted, and says whether the bound instance exists.
import { App } from "../../crds/app/app.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { defineController, NotReady, watch } from "../../kube/controller/controller.ts";
import { getApp, indexByApp, mapAppToOwned, OWNING_APP_INDEX, toAppOwnership } from "../shared/app-owned.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";

const INSTANCE_INDEX = "controllers/service-instance";

function instanceKey(namespace: string | undefined, instance: string): string {
  return `${namespace ?? ""}/${instance}`;
}

export const serviceBindingController = defineController({
  name: "service-binding",
  for: ServiceBinding,
  indexes: {
    [GUID_INDEX]: indexByGUID,
    [OWNING_APP_INDEX]: indexByApp,
    [INSTANCE_INDEX]: ({ metadata, spec }: ServiceBinding) => [instanceKey(metadata.namespace, spec.instanceRef.name)],
  },
  watches: [
    watch(App, mapAppToOwned),
    watch(ServiceInstance, ({ metadata }) => ({ [INSTANCE_INDEX]: instanceKey(metadata.namespace, metadata.name) })),
  ],

  reconcile(binding, context) {
    const { read } = context;
    const app = getApp(read, binding);
    const { labels } = resolveGUID(ServiceBinding, binding, context);
    const { name } = binding.spec.instanceRef;
    if (!read.find(ServiceInstance, { namespace: binding.metadata.namespace, name }))
      throw new NotReady(
        "InstanceMissing",
        `service instance ${name} does not exist in this namespace; create it, or delete this binding`,
        { isFailure: true },
      );
    return toAppOwnership(app, resolveGUID(App, app, context).guid, labels);
  },
});
