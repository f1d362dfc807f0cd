// Presents a ServiceBinding as CF's JSON.
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { appGUIDOf } from "../cf/app/owner-app.ts";
import { presentOperation } from "../cf/service/present-operation.ts";
import { instanceOf } from "../cf/service/bindings.ts";
import { link, presentIdentity, presentMetadata } from "../http/presentation.ts";

export function presentBinding(cache: ClusterCache, binding: ServiceBinding, base: string): object {
  const at = presentIdentity(cache, ServiceBinding, binding);
  const instance = instanceOf(cache, binding);
  // An object that kubectl made may name an instance that is not there.
  const instanceGUID = instance ? cache.guid(ServiceInstance, instance) : "";
  const self = `${base}/v3/service_credential_bindings/${at.guid}`;
  const isManaged = instance?.spec.type === "managed";
  const app = binding.spec.type === "app" ? presentApp(cache, binding, base) : undefined;
  return {
    ...at,
    name: binding.spec.name ?? null,
    type: binding.spec.type,
    last_operation: isManaged ? presentOperation(binding) : presentDone(at),
    ...presentMetadata(binding),
    relationships: { ...app?.relationships, service_instance: { data: { guid: instanceGUID } } },
    links: {
      self: link(self),
      details: link(`${self}/details`),
      ...(isManaged && { parameters: link(`${self}/parameters`) }),
      ...app?.links,
      service_instance: link(`${base}/v3/service_instances/${instanceGUID}`),
    },
  };
}

function presentApp(cache: ClusterCache, binding: ServiceBinding, base: string) {
  const guid = appGUIDOf(cache, binding);
  return { relationships: { app: { data: { guid } } }, links: { app: link(`${base}/v3/apps/${guid}`) } };
}

/** The last operation of a user-provided instance's binding, which is made at once. */
function presentDone({ created_at, updated_at }: { created_at: string; updated_at: string }): object {
  return { type: "create", state: "succeeded", description: "", created_at, updated_at };
}
