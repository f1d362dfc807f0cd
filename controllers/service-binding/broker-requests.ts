// The requests to a broker about a binding. Pure.
import type { ProvidedBy } from "../../crds/service-instance/managed-fields.ts";
import type { BrokerRequest } from "../shared/osb/call-broker.ts";
import { toContext, type ContextPlace } from "../shared/osb/platform-context.ts";

export interface BindingKey {
  instanceGUID: string;
  guid: string;
}

const at = ({ instanceGUID, guid }: BindingKey): string =>
  `/v2/service_instances/${encodeURIComponent(instanceGUID)}/service_bindings/${encodeURIComponent(guid)}`;

function queryOf({ offeringID, planID }: ProvidedBy, more: Record<string, string> = {}): string {
  return new URLSearchParams({ service_id: offeringID, plan_id: planID, ...more }).toString();
}

/** The app of a binding. */
export interface BoundApp {
  guid: string;
  annotations: Record<string, string>;
}

/**
 * `place` is the instance's, and `appSpaceGUID` of the app's space, with which the instance may be shared. `isRetrievable`: only such a broker may go on by
 * itself, since its credentials are read afterwards.
 */
export function toBind(
  key: BindingKey,
  provided: ProvidedBy,
  {
    place,
    app,
    appSpaceGUID,
    routeAddress,
    parameters,
    predecessorGUID,
    isRetrievable,
  }: {
    place: ContextPlace;
    app: BoundApp | undefined;
    appSpaceGUID: string;
    /** Host and path of a route, for a binding of one. */
    routeAddress: string | undefined;
    parameters: object | undefined;
    /** The binding that this one replaces, whose parameters the broker knows. */
    predecessorGUID: string | undefined;
    isRetrievable: boolean;
  },
): BrokerRequest {
  return {
    method: "PUT",
    path: isRetrievable ? `${at(key)}?accepts_incomplete=true` : at(key),
    body: {
      service_id: provided.offeringID,
      plan_id: provided.planID,
      context: toContext(place),
      ...toBindResource({ app, appSpaceGUID, routeAddress }),
      ...(parameters && { parameters }),
      ...(predecessorGUID !== undefined && { predecessor_binding_id: predecessorGUID }),
    },
  };
}

/** None for a key: there is no CredHub, whose client it would name. */
function toBindResource({
  app,
  appSpaceGUID,
  routeAddress,
}: {
  app: BoundApp | undefined;
  appSpaceGUID: string;
  routeAddress: string | undefined;
}): object {
  if (routeAddress !== undefined) return { bind_resource: { route: routeAddress } };
  if (!app) return {};
  const { guid, annotations } = app;
  return {
    bind_resource: { app_guid: guid, space_guid: appSpaceGUID, app_annotations: annotations },
    app_guid: guid,
  };
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
