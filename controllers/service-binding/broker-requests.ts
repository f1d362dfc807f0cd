// The requests to a broker about a binding. Pure.
import type { ProvidedBy } from "../../crds/service-instance/managed-fields.ts";
import type { BrokerRequest } from "../shared/osb/call-broker.ts";
import { toContext } from "../shared/osb/platform-context.ts";
import type { Tenancy } from "../shared/tenancy.ts";

export interface BindingKey {
  instanceGUID: string;
  guid: string;
}

const at = ({ instanceGUID, guid }: BindingKey): string =>
  `/v2/service_instances/${encodeURIComponent(instanceGUID)}/service_bindings/${encodeURIComponent(guid)}`;

function queryOf({ offeringID, planID }: ProvidedBy, more: Record<string, string> = {}): string {
  return new URLSearchParams({ service_id: offeringID, plan_id: planID, ...more }).toString();
}

/**
 * `tenancy` is the instance's, and `appSpaceGUID` of the app's space, with which the instance may be shared. `isRetrievable`: only such a broker may go on by
 * itself, since its credentials are read afterwards.
 */
export function toBind(
  key: BindingKey,
  provided: ProvidedBy,
  {
    tenancy,
    appGUID,
    appSpaceGUID,
    routeAddress,
    parameters,
    isRetrievable,
  }: {
    tenancy: Tenancy;
    appGUID: string | undefined;
    appSpaceGUID: string;
    /** Host and path of a route, for a binding of one. */
    routeAddress: string | undefined;
    parameters: object | undefined;
    isRetrievable: boolean;
  },
): BrokerRequest {
  return {
    method: "PUT",
    path: isRetrievable ? `${at(key)}?accepts_incomplete=true` : at(key),
    body: {
      service_id: provided.offeringID,
      plan_id: provided.planID,
      context: toContext(tenancy),
      bind_resource: toBindResource({ appGUID, appSpaceGUID, routeAddress }),
      ...(appGUID !== undefined && { app_guid: appGUID }),
      ...(parameters && { parameters }),
    },
  };
}

function toBindResource({
  appGUID,
  appSpaceGUID,
  routeAddress,
}: {
  appGUID: string | undefined;
  appSpaceGUID: string;
  routeAddress: string | undefined;
}): object {
  if (routeAddress !== undefined) return { route: routeAddress };
  return appGUID === undefined ? { credential_client_id: "cupola" } : { app_guid: appGUID, space_guid: appSpaceGUID };
}

export function toUnbind(key: BindingKey, provided: ProvidedBy): BrokerRequest {
  return { method: "DELETE", path: `${at(key)}?${queryOf(provided, { accepts_incomplete: "true" })}` };
}

export function toBindingPoll(key: BindingKey, provided: ProvidedBy, operation: string | undefined): BrokerRequest {
  const query = queryOf(provided, operation === undefined ? {} : { operation });
  return { method: "GET", path: `${at(key)}/last_operation?${query}` };
}

export function toRead(key: BindingKey, provided: ProvidedBy): BrokerRequest {
  return { method: "GET", path: `${at(key)}?${queryOf(provided)}` };
}
