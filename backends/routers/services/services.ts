// Keeps the Services of all routes, whatever their class, and deletes each with the last route that needs it.
import { LABELS } from "../../../crds/labels.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Service } from "../../../kube/api/builtin.ts";
import type { ObjectKey } from "../../../kube/api/object.ts";
import { defineController, watch, type Controller } from "../../../kube/controller/controller.ts";
import type { Permission } from "../../../kube/rbac/resource-rules.ts";
import { deleteUnneeded } from "./delete-unneeded.ts";
import {
  destinationNamespace,
  needsRelay,
  planServiceSpec,
  RELAY_SERVICE,
  SERVICE_CONTROLLER,
  servedDestinations,
  serviceName,
  spaceLabels,
} from "./plan.ts";

/** Index of RouteBindings by `namespace/name` of the Services that they need. */
export const SERVICE_INDEX = "routers/service";

export const indexByService = (binding: RouteBinding): string[] =>
  [
    ...serviceKeys(binding),
    ...(needsRelay(binding) ? [{ namespace: binding.metadata.namespace, name: RELAY_SERVICE }] : []),
  ].map(({ namespace, name }) => `${namespace}/${name}`);

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
    const { namespace, name } = service.metadata;
    const findIn = (where?: string): RouteBinding | undefined =>
      read.byIndex(RouteBinding, SERVICE_INDEX, `${namespace}/${name}`, where)[0];
    // A route of another space may need it, too. Those of its own are asked first: they are known also while others cannot be read.
    const own = findIn(namespace);
    const binding = own ?? findIn();
    const destination = binding && servedDestinations(binding).find((candidate) => serviceName(candidate) === name);
    if (destination) return { spec: { ...planServiceSpec(destination) }, ...(own && { labels: spaceLabels(own) }) };
    await deleteUnneeded(Service, service, { read, client });
    return {};
  },
});
