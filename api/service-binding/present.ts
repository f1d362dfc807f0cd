// Presents a ServiceBinding as CF's JSON.
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { appGUIDOf } from "../cf/app/owner-app.ts";
import { instanceOf } from "../cf/service/bindings.ts";
import { link, presentIdentity, presentMetadata } from "../http/presentation.ts";

export function presentBinding(cache: ClusterCache, binding: ServiceBinding, base: string): object {
  const at = presentIdentity(cache, ServiceBinding, binding);
  const app = appGUIDOf(cache, binding);
  const instance = instanceOf(cache, binding);
  // An object that kubectl made may name an instance that is not there.
  const instanceGUID = instance ? cache.guid(ServiceInstance, instance) : "";
  const self = `${base}/v3/service_credential_bindings/${at.guid}`;
  return {
    ...at,
    name: binding.spec.name ?? null,
    type: "app",
    last_operation: {
      type: "create",
      state: "succeeded",
      description: "",
      created_at: at.created_at,
      updated_at: at.updated_at,
    },
    ...presentMetadata(binding),
    relationships: { app: { data: { guid: app } }, service_instance: { data: { guid: instanceGUID } } },
    links: {
      self: link(self),
      details: link(`${self}/details`),
      app: link(`${base}/v3/apps/${app}`),
      service_instance: link(`${base}/v3/service_instances/${instanceGUID}`),
    },
  };
}
