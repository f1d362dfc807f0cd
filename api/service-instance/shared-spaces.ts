// Endpoints of the spaces with which a service instance is shared.
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Space } from "../../crds/space/space.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { bindingsOfInstance } from "../cf/service/bindings.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { link, toManyRelationship } from "../http/presentation.ts";
import { sharedSpacesQuery } from "./payload.ts";
import { hasFields, includedSpaceFields } from "./present.ts";

const path = "/v3/service_instances/:guid/relationships/shared_spaces";
const read = { verb: "get", on: ServiceInstance } as const;

function listSharedSpaces(cache: ClusterCache, { spec }: ServiceInstance): Space[] {
  return (spec.sharedSpaces ?? []).flatMap((namespace) => cache.spaceOf(namespace) ?? []);
}

const list = endpoint({
  method: "GET",
  path,
  permission: read,
  query: sharedSpacesQuery,
  summary: "List the spaces with which a service instance is shared",
  handler: ({ session, params, query, base }) => {
    const { cache } = session;
    const spaces = listSharedSpaces(cache, session.get(ServiceInstance, params.guid));
    return ok({
      ...toManyRelationship(spaces.map((space) => cache.guid(Space, space))),
      links: { self: link(`${base}/v3/service_instances/${params.guid}/relationships/shared_spaces`) },
      ...(hasFields(query) && { included: includedSpaceFields(session, spaces, query) }),
    });
  },
});

const usageSummary = endpoint({
  method: "GET",
  path: `${path}/usage_summary`,
  permission: read,
  summary: "Count the bound apps in the spaces with which a service instance is shared",
  handler: ({ session, params, base }) => {
    const { cache } = session;
    const instance = session.get(ServiceInstance, params.guid);
    const bindings = bindingsOfInstance(cache, instance).filter(({ spec }: ServiceBinding) => spec.type === "app");
    const self = `${base}/v3/service_instances/${params.guid}`;
    return ok({
      usage_summary: listSharedSpaces(cache, instance).map((space) => ({
        space: { guid: cache.guid(Space, space) },
        bound_app_count: bindings.filter(({ metadata }) => metadata.namespace === space.status?.namespace).length,
      })),
      links: {
        self: link(`${self}/relationships/shared_spaces/usage_summary`),
        shared_spaces: link(`${self}/relationships/shared_spaces`),
        service_instance: link(self),
      },
    });
  },
});

export const sharedSpaceEndpoints: readonly Endpoint[] = [list, usageSummary];
