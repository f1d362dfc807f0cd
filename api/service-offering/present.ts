// Presents a ServiceOffering as CF's JSON.
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { brokerGUIDOf, parseCatalogJSON } from "../cf/service/marketplace.ts";
import { link, presentIdentity, presentMetadata, toOneRelationship } from "../http/presentation.ts";

export function presentOffering(cache: ClusterCache, offering: ServiceOffering, base: string): object {
  const at = presentIdentity(cache, ServiceOffering, offering);
  const broker = brokerGUIDOf(cache, offering);
  const { spec } = offering;
  return {
    ...at,
    name: spec.name,
    description: spec.description,
    available: spec.available,
    tags: [...spec.tags],
    requires: [...spec.requires],
    shareable: spec.shareable,
    documentation_url: spec.documentationURL ?? "",
    broker_catalog: {
      id: spec.catalogID,
      metadata: parseCatalogJSON(spec.metadata) ?? {},
      features: {
        plan_updateable: spec.planUpdateable,
        bindable: spec.bindable,
        instances_retrievable: spec.instancesRetrievable,
        bindings_retrievable: spec.bindingsRetrievable,
        allow_context_updates: spec.allowContextUpdates,
      },
    },
    relationships: { service_broker: toOneRelationship(broker) },
    ...presentMetadata(offering),
    links: {
      self: link(`${base}/v3/service_offerings/${at.guid}`),
      service_plans: link(`${base}/v3/service_plans?service_offering_guids=${at.guid}`),
      service_broker: link(`${base}/v3/service_brokers/${broker}`),
    },
  };
}
