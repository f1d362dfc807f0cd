// Bindings by their instance, whatever their namespace.
import { instanceNamespaceOf, type ServiceBinding } from "../../crds/service-binding/service-binding.ts";

export const INSTANCE_INDEX = "controllers/service-instance";

export function instanceKey(namespace: string | undefined, instance: string): string {
  return `${namespace ?? ""}/${instance}`;
}

export function indexByInstance(binding: ServiceBinding): string[] {
  return [instanceKey(instanceNamespaceOf(binding), binding.spec.instanceRef.name)];
}
