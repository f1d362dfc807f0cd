// Presents a ServiceBinding of a route as CF's JSON.
import { Route } from "../../crds/route/route.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { routeOf } from "../cf/service/route-bindings.ts";
import { presentOperation } from "../cf/service/present-operation.ts";
import { instanceOf } from "../cf/service/bindings.ts";
import { link, presentIdentity, presentMetadata } from "../http/presentation.ts";

export function presentRouteBinding(cache: ClusterCache, binding: ServiceBinding, base: string): object {
  const at = presentIdentity(cache, ServiceBinding, binding);
  // An object that kubectl made may name an instance or a route that is not there.
  const instance = instanceOf(cache, binding);
  const instanceGUID = instance ? cache.guid(ServiceInstance, instance) : "";
  const route = routeOf(cache, binding);
  const routeGUID = route ? cache.guid(Route, route) : "";
  const isManaged = instance?.spec.type === "managed";
  const self = `${base}/v3/service_route_bindings/${at.guid}`;
  const { created_at, updated_at } = at;
  return {
    ...at,
    route_service_url: binding.status?.routeServiceURL ?? instance?.spec.routeServiceURL ?? null,
    last_operation: isManaged
      ? presentOperation(binding)
      : { type: "create", state: "succeeded", description: "", created_at, updated_at },
    ...presentMetadata(binding),
    relationships: { service_instance: { data: { guid: instanceGUID } }, route: { data: { guid: routeGUID } } },
    links: {
      self: link(self),
      service_instance: link(`${base}/v3/service_instances/${instanceGUID}`),
      route: link(`${base}/v3/routes/${routeGUID}`),
      ...(isManaged && { parameters: link(`${self}/parameters`) }),
    },
  };
}
