// The requests to a broker about a service instance. Pure.
import type { ProvidedBy } from "../../crds/service-instance/managed-fields.ts";
import type { BrokerRequest } from "../shared/osb/call-broker.ts";
import { toContext, type ContextPlace } from "../shared/osb/platform-context.ts";

export interface InstanceFacts {
  guid: string;
  name: string;
  annotations: Record<string, string>;
  place: ContextPlace;
}

const at = (guid: string): string => `/v2/service_instances/${encodeURIComponent(guid)}`;

function queryOf({ offeringID, planID }: ProvidedBy, more: Record<string, string>): string {
  return new URLSearchParams({ service_id: offeringID, plan_id: planID, ...more }).toString();
}

export function toProvision(
  { guid, name, annotations, place }: InstanceFacts,
  target: ProvidedBy,
  parameters: object | undefined,
): BrokerRequest {
  return {
    method: "PUT",
    path: `${at(guid)}?accepts_incomplete=true`,
    body: {
      service_id: target.offeringID,
      plan_id: target.planID,
      organization_guid: place.tenancy.org.guid,
      space_guid: place.tenancy.space.guid,
      context: toContext(place, { name, annotations }),
      ...(parameters && { parameters }),
      ...(target.maintenanceVersion !== undefined && { maintenance_info: { version: target.maintenanceVersion } }),
    },
  };
}

/** The plan is always named, as in CF, parameters and version only where they change. */
export function toUpdate(
  { guid, name, annotations, place }: InstanceFacts,
  { before, target }: { before: ProvidedBy; target: ProvidedBy },
  parameters: object | undefined,
): BrokerRequest {
  const isUpgraded = target.maintenanceVersion !== before.maintenanceVersion;
  return {
    method: "PATCH",
    path: `${at(guid)}?accepts_incomplete=true`,
    body: {
      service_id: target.offeringID,
      plan_id: target.planID,
      context: toContext(place, { name, annotations }),
      ...(parameters && { parameters }),
      ...(isUpgraded &&
        target.maintenanceVersion !== undefined && { maintenance_info: { version: target.maintenanceVersion } }),
      previous_values: {
        service_id: before.offeringID,
        plan_id: before.planID,
        organization_id: place.tenancy.org.guid,
        space_id: place.tenancy.space.guid,
        ...(before.maintenanceVersion !== undefined && { maintenance_info: { version: before.maintenanceVersion } }),
      },
    },
  };
}

export function toDeprovision(guid: string, provided: ProvidedBy): BrokerRequest {
  return { method: "DELETE", path: `${at(guid)}?${queryOf(provided, { accepts_incomplete: "true" })}` };
}

export function toPoll(guid: string, provided: ProvidedBy, operation: string | undefined): BrokerRequest {
  const query = queryOf(provided, operation === undefined ? {} : { operation });
  return { method: "GET", path: `${at(guid)}/last_operation?${query}` };
}

export function toInstanceRead(guid: string, provided: ProvidedBy): BrokerRequest {
  return { method: "GET", path: `${at(guid)}?${queryOf(provided, {})}` };
}
