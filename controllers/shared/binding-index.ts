// Bindings by their instance, whatever their namespace, and by their route.
import { instanceNamespaceOf, type ServiceBinding } from "../../crds/service-binding/service-binding.ts";

export const INSTANCE_INDEX = "controllers/service-instance";

export function instanceKey(namespace: string | undefined, instance: string): string {
  return `${namespace ?? ""}/${instance}`;
}

export function indexByInstance(binding: ServiceBinding): string[] {
  return [instanceKey(instanceNamespaceOf(binding), binding.spec.instanceRef.name)];
}

export const ROUTE_INDEX = "controllers/bound-route";

export function routeKey(namespace: string | undefined, route: string): string {
  return `${namespace ?? ""}/${route}`;
}

export function indexByRoute({ metadata, spec }: ServiceBinding): string[] {
  return spec.routeRef ? [routeKey(metadata.namespace, spec.routeRef.name)] : [];
}
