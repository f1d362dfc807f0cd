// Makes a ServiceBinding its app's or route's, which takes it along when it is deleted, and says whether the bound instance exists.
import { App } from "../../crds/app/app.ts";
import { Route } from "../../crds/route/route.ts";
import { isRouteServiceURL } from "../../crds/service-instance/route-service-url.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { isWithin, ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { defineController, NotReady, Stalled, watch } from "../../kube/controller/controller.ts";
import {
  getApp,
  indexByApp,
  mapAppToOwned,
  OWNING_APP_INDEX,
  toAppOwnership,
  toOwnerReference,
} from "../shared/app-owned.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import {
  INSTANCE_INDEX,
  indexByInstance,
  indexByRoute,
  instanceKey,
  ROUTE_INDEX,
  routeKey,
} from "../shared/binding-index.ts";

export const serviceBindingController = defineController({
  name: "service-binding",
  for: ServiceBinding,
  indexes: {
    [GUID_INDEX]: indexByGUID,
    [OWNING_APP_INDEX]: indexByApp,
    [INSTANCE_INDEX]: indexByInstance,
    [ROUTE_INDEX]: indexByRoute,
  },
  watches: [
    watch(App, mapAppToOwned),
    watch(Route, ({ metadata }) => ({ [ROUTE_INDEX]: routeKey(metadata.namespace, metadata.name) })),
    watch(ServiceInstance, ({ metadata }) => ({ [INSTANCE_INDEX]: instanceKey(metadata.namespace, metadata.name) })),
  ],

  reconcile(binding, context) {
    const { read } = context;
    const app = binding.spec.appRef && getApp(read, { ...binding, spec: { appRef: binding.spec.appRef } });
    const { labels } = resolveGUID(ServiceBinding, binding, context);
    const instance = requireInstance(binding, read);
    if (binding.spec.routeRef) return { labels, ...planRouteBinding(binding, instance, read) };
    return app ? toAppOwnership(app, resolveGUID(App, app, context).guid, labels) : { labels };
  },
});

/** Makes the binding its route's, and tells the address of a user-provided service. @throws NotReady, Stalled */
function planRouteBinding({ metadata, spec }: ServiceBinding, instance: ServiceInstance, read: Reader) {
  const { namespace = "" } = metadata;
  const name = spec.routeRef?.name ?? "";
  const route = read.find(Route, { namespace, name });
  if (!route)
    throw new NotReady(
      "RouteMissing",
      `no route of this namespace is named ${name}; create it, or delete this binding`,
      {
        isFailure: true,
      },
    );
  const ownerReferences = [toOwnerReference(route, Route)];
  if (instance.spec.type === "managed") return { ownerReferences };
  const { routeServiceURL } = instance.spec;
  if (routeServiceURL === undefined || !isRouteServiceURL(routeServiceURL))
    throw new Stalled(
      "NotARouteService",
      `service instance ${instance.metadata.name} has no https address in spec.routeServiceURL; set it, or delete this binding`,
    );
  return { ownerReferences, status: { routeServiceURL } };
}

/** @throws NotReady, Stalled */
function requireInstance(binding: ServiceBinding, read: Reader): ServiceInstance {
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
  return instance;
}

/** Result of managed.ts. @throws NotReady */
function requireProvided({ status }: ServiceBinding): void {
  const provided = status?.conditions?.find(({ type }) => type === "Provided");
  if (provided?.status === "True") return;
  const { reason = "OperationInProgress", message = "the service broker has not been asked yet" } = provided ?? {};
  throw new NotReady(reason, message, { isFailure: status?.lastOperation?.state === "failed" });
}
