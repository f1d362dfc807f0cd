// Endpoints of RoutePolicy: `/v3/route_policies`.
import type { z } from "zod";
import { newGUID } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { Route } from "../../crds/route/route.ts";
import { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import {
  ANY_SOURCE,
  isInScope,
  MAX_POLICIES_OF_ROUTE,
  routePolicyName,
  toSource,
} from "../../crds/route-policy/rules.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { Session } from "../access/session.ts";
import { domainOf } from "../cache/domains.ts";
import { patchMetadata } from "../cf/patch-metadata.ts";
import { spaceNamespaces } from "../cf/org/org-and-space-namespaces.ts";
import { CFError, notFound, unprocessable } from "../http/errors.ts";
import { metadataForCreate } from "../http/metadata.ts";
import { metadataOnlySchema } from "../http/shared-schemas.ts";
import { includedOfRoutePolicies } from "../included/route-policies.ts";
import { isOneOf, listObjects } from "../lists/list-objects.ts";
import { presentPage } from "../lists/page.ts";
import { created, endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { createRoutePolicyBody, routePolicyListQuery, routePolicyQuery } from "./payload.ts";
import { presentRoutePolicy, routeOfPolicy } from "./present.ts";

const path = "/v3/route_policies/:guid";

type ListQuery = z.output<typeof routePolicyListQuery>;
type CreateBody = z.output<typeof createRoutePolicyBody>;

function filterOf({ cache }: Session, query: ListQuery): (policy: RoutePolicy) => boolean {
  return (policy) => {
    const route = routeOfPolicy(cache, policy);
    return (
      isOneOf(query.route_guids, route ? cache.guid(Route, route) : "") &&
      isOneOf(query.sources, policy.spec.source) &&
      isOneOf(query.source_guids, toSource(policy.spec.source).guid)
    );
  };
}

function includedOf(
  session: Session,
  base: string,
  include: ListQuery["include"],
): ((page: readonly RoutePolicy[]) => object) | undefined {
  return include && ((page) => includedOfRoutePolicies(session, base, page, include));
}

/** @throws CFError 422 where the route's domain takes no such policy */
function requireEnforcingDomain({ cache }: Session, route: Route, source: string): void {
  const domain = domainOf(cache, route);
  if (domain?.spec.internal)
    throw unprocessable(
      "Cannot create route policies for routes on internal domains. Internal routes use container-to-container networking and bypass GoRouter.",
    );
  if (!domain?.spec.routePolicies)
    throw unprocessable(
      `Cannot create route policies for route '${cache.guid(Route, route)}': the route's domain does not have enforce_route_policies enabled.`,
    );
  if (!isInScope(source, domain))
    throw unprocessable(`Source '${source}' is not allowed: domain's route_policies_scope is 'space'.`);
}

/** @throws CFError 422 for a source twice, for cf:any beside others, and for one too many */
function requireRoom({ cache }: Session, { metadata }: Route, source: string): void {
  const others = cache.store(RoutePolicy).byIndex("route", `${metadata.namespace}/${metadata.name}`);
  // The API server judges a policy of the same name: the cache may still have a deleted one.
  const name = routePolicyName({ routeRef: { name: metadata.name }, source });
  if (others.some((one) => one.spec.source === source && one.metadata.name !== name)) throw alreadyExists(source);
  if (source === ANY_SOURCE && others.some(({ spec }) => spec.source !== ANY_SOURCE))
    throw unprocessable("Source 'cf:any' cannot be combined with other route policies. Remove the others first.");
  if (source !== ANY_SOURCE && others.some(({ spec }) => spec.source === ANY_SOURCE))
    throw unprocessable("The route has the policy 'cf:any', which allows every source. Remove it first.");
  if (others.length >= MAX_POLICIES_OF_ROUTE)
    throw unprocessable(`A route has at most ${MAX_POLICIES_OF_ROUTE} route policies. Remove others first.`);
}

async function createPolicy(session: Session, { source, relationships, metadata }: CreateBody): Promise<RoutePolicy> {
  const route = session.find(Route, relationships.route.data.guid);
  if (!route) throw notFound("Route");
  const { name, namespace = "", uid = "" } = route.metadata;
  if (!session.allows({ verb: "create", on: RoutePolicy, namespace })) throw new CFError("NotAuthorized");
  requireEnforcingDomain(session, route, source);
  requireRoom(session, route, source);
  const { labels, annotations } = metadataForCreate(metadata);
  const spec = { routeRef: { name }, source };
  return session.create(
    RoutePolicy,
    {
      metadata: {
        name: routePolicyName(spec),
        namespace,
        labels: { ...labels, [LABELS.guid]: newGUID() },
        annotations,
        ownerReferences: [{ apiVersion: apiVersionOf(Route), kind: Route.kind, name, uid }],
      },
      spec,
    },
    () => alreadyExists(source),
  );
}

function alreadyExists(source: string): CFError {
  return unprocessable(`A route policy with source '${source}' already exists for this route.`);
}

const list = endpoint({
  method: "GET",
  path: "/v3/route_policies",
  permission: "authenticated",
  lists: [RoutePolicy],
  query: routePolicyListQuery,
  summary: "List route policies",
  handler: ({ session, query, base, url }) => {
    const namespaces = spaceNamespaces(session, { space_guids: query.space_guids });
    const found = listObjects(session, RoutePolicy, query, {
      url,
      ...(namespaces && { scope: { namespaces } }),
      filter: filterOf(session, query),
      dependsOn: [Route],
    });
    const present = (one: RoutePolicy): object => presentRoutePolicy(session.cache, one, base);
    return ok(presentPage(found, { base, url, query }, present, includedOf(session, base, query.include)));
  },
});

export const routePolicyEndpoints: readonly Endpoint[] = [
  list,
  endpoint({
    method: "POST",
    path: "/v3/route_policies",
    permission: { verb: "create", on: RoutePolicy },
    body: createRoutePolicyBody,
    summary: "Let apps call a route of a domain that enforces route policies",
    handler: async ({ session, body, base }) =>
      created(presentRoutePolicy(session.cache, await createPolicy(session, body), base)),
  }),
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: RoutePolicy },
    query: routePolicyQuery,
    badQueryError: "UnprocessableEntity",
    summary: "Get a route policy",
    handler: ({ session, params, query, base }) => {
      const policy = session.get(RoutePolicy, params.guid);
      const included = includedOf(session, base, query.include)?.([policy]);
      return ok({ ...presentRoutePolicy(session.cache, policy, base), ...(included && { included }) });
    },
  }),
  endpoint({
    method: "PATCH",
    path,
    permission: { verb: "patch", on: RoutePolicy },
    body: metadataOnlySchema,
    summary: "Update the metadata of a route policy",
    handler: async ({ session, params, body, base }) => {
      const policy = session.get(RoutePolicy, params.guid);
      return ok(
        presentRoutePolicy(session.cache, await patchMetadata(session, RoutePolicy, policy, body.metadata), base),
      );
    },
  }),
  endpoint({
    method: "DELETE",
    path,
    permission: { verb: "delete", on: RoutePolicy },
    summary: "Delete a route policy",
    handler: async ({ session, params }) => {
      await session.delete(RoutePolicy, session.get(RoutePolicy, params.guid));
      return noContent();
    },
  }),
];
