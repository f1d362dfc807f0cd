// Presents a ServicePlan as CF's JSON.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { visibilityOf } from "../../crds/service-plan/visibility.ts";
import { Space } from "../../crds/space/space.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { offeringOf } from "../cf/service/catalog.ts";
import { parseCatalogJSON } from "../cf/service/marketplace.ts";
import { link, presentIdentity, presentMetadata, toOneRelationship } from "../http/presentation.ts";

/** The space whose own broker has the plan; undefined for one of the whole platform's. */
export function planSpace(cache: ClusterCache, { metadata }: ServicePlan): Space | undefined {
  return metadata.namespace === SYSTEM_NAMESPACE ? undefined : cache.spaceOf(metadata.namespace);
}

export function presentPlan(cache: ClusterCache, plan: ServicePlan, base: string): object {
  const at = presentIdentity(cache, ServicePlan, plan);
  const { spec } = plan;
  const offering = offeringOf(cache, plan);
  const offeringGUID = offering ? cache.guid(ServiceOffering, offering) : "";
  const space = planSpace(cache, plan);
  const spaceGUID = space && cache.guid(Space, space);
  const self = `${base}/v3/service_plans/${at.guid}`;
  return {
    ...at,
    name: spec.name,
    description: spec.description,
    visibility_type: visibilityOf(plan).type,
    available: spec.available,
    free: spec.free,
    costs: parseCatalogJSON(spec.costs) ?? [],
    maintenance_info: spec.maintenanceInfo ?? {},
    broker_catalog: presentCatalogEntry(plan, offering),
    schemas: presentSchemas(parseCatalogJSON(spec.schemas)),
    relationships: {
      service_offering: toOneRelationship(offeringGUID),
      ...(spaceGUID !== undefined && { space: toOneRelationship(spaceGUID) }),
    },
    ...presentMetadata(plan),
    links: {
      self: link(self),
      service_offering: link(`${base}/v3/service_offerings/${offeringGUID}`),
      visibility: link(`${self}/visibility`),
      ...(spaceGUID !== undefined && { space: link(`${base}/v3/spaces/${spaceGUID}`) }),
    },
  };
}

function presentCatalogEntry({ spec }: ServicePlan, offering: ServiceOffering | undefined): object {
  return {
    id: spec.catalogID,
    metadata: parseCatalogJSON(spec.metadata) ?? {},
    maximum_polling_duration: spec.maximumPollingDuration ?? null,
    features: {
      bindable: spec.bindable ?? offering?.spec.bindable ?? false,
      plan_updateable: spec.planUpdateable ?? offering?.spec.planUpdateable ?? false,
    },
  };
}

function presentSchemas(schemas: unknown): object {
  const parameters = (of: string, verb: string): object => {
    const [whole, part] = [memberOf(memberOf(schemas, of), verb), "parameters"];
    const found = memberOf(whole, part);
    return { parameters: typeof found === "object" && found !== null ? found : {} };
  };
  return {
    service_instance: {
      create: parameters("service_instance", "create"),
      update: parameters("service_instance", "update"),
    },
    service_binding: { create: parameters("service_binding", "create") },
  };
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
