// Keeps the Services of all routes, whatever their class, and deletes each with the last route that needs it.
import { LABELS } from "../../../crds/labels.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Service } from "../../../kube/api/builtin.ts";
import type { ObjectKey } from "../../../kube/api/object.ts";
import { isConflict, isNotFound } from "../../../kube/client/errors.ts";
import { defineController, watch, type Controller } from "../../../kube/controller/controller.ts";
import type { Permission } from "../../../kube/rbac/resource-rules.ts";
import {
  destinationNamespace,
  planServiceSpec,
  SERVICE_CONTROLLER,
  servedDestinations,
  serviceName,
  type RouteDestination,
} from "./plan.ts";

/** Index of RouteBindings by `namespace/name` of the Services that they need. */
export const SERVICE_INDEX = "routers/service";

export const indexByService = (binding: RouteBinding): string[] =>
  serviceKeys(binding).map(({ namespace, name }) => `${namespace}/${name}`);

/** A changed or deleted Service enqueues the bindings that need it. */
export const SERVICE_WATCH = watch(Service, ({ metadata }) => ({
  [SERVICE_INDEX]: `${metadata.namespace}/${metadata.name}`,
}));

/** For the controllers of bindings, which create the Services. */
export const SERVICE_PERMISSION: Permission = { resource: Service, verbs: ["create", "patch"] };

function serviceKeys(binding: RouteBinding): ObjectKey[] {
  return servedDestinations(binding).map((destination) => ({
    namespace: destinationNamespace(binding, destination),
    name: serviceName(destination),
  }));
}

/**
 * Several routes share a Service, so it has no owner: it stays as long as a binding of any class names it, and the first one decides its spec.
 * Every process with a router class that uses Services runs this controller.
 */
export const serviceController: Controller = defineController({
  name: SERVICE_CONTROLLER,
  for: Service,
  selects: (service) => service.metadata.labels?.[LABELS.managedBy] === SERVICE_CONTROLLER,
  writesStatus: false,
  watches: [watch(RouteBinding, serviceKeys)],
  permissions: [{ resource: Service, verbs: ["delete"] }],

  async reconcile(service, { read, client }) {
    const { namespace, name, uid } = service.metadata;
    const findIn = (where?: string): RouteDestination | undefined =>
      read
        .byIndex(RouteBinding, SERVICE_INDEX, `${namespace}/${name}`, where)
        .flatMap(servedDestinations)
        .find((candidate) => serviceName(candidate) === name);
    // A route of another space may need it, too. Those of its own are asked first: they are known also while others cannot be read.
    const destination = findIn(namespace) ?? findIn();
    if (destination) return { spec: { ...planServiceSpec(destination) } };
    try {
      await client.delete(Service, service.metadata, { preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return {};
  },
});
