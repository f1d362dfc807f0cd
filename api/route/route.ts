// Endpoints of Route: `/v3/routes` and the routes of an app. Destinations are in destinations.ts.
import type { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { isTCPDomain } from "../../crds/domain/protocols.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Org } from "../../crds/org/org.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { Process } from "../../crds/process/process.ts";
import { isAvailableIn, leadsTo } from "../../crds/route/destinations.ts";
import { Route, type RouteOptions } from "../../crds/route/route.ts";
import { foldHost } from "../../crds/route/route-url.ts";
import { RoutePolicy } from "../../crds/route-policy/route-policy.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { Space } from "../../crds/space/space.ts";
import { accepted, created, endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import { type CFError, unprocessable } from "../http/errors.ts";
import { includedDomains, includedSpaces } from "../included/included.ts";
import { includedRoutePolicies } from "../included/route-policies.ts";
import { newDeletionJob } from "../jobs/jobs.ts";
import { appKey } from "../cf/app/owner-app.ts";
import { isFlagOn } from "../cf/feature-flags.ts";
import { domainOf, isUsableBy } from "../cache/domains.ts";
import {
  findOptionProblems,
  mergeRouteOptions,
  toOptionsPatch,
  type RouteOptionsInput,
} from "../cf/route/route-options.ts";
import { listObjects, isOneOf } from "../lists/list-objects.ts";
import { metadataForCreate, toMetadataPatch } from "../http/metadata.ts";
import { createRoute, type NewRoute } from "../cf/route/create-route.ts";
import type { RouteAddress } from "../cf/route/route-address.ts";
import { chooseFreePort, portUnavailable } from "../cf/route/router-groups.ts";
import { presentPage } from "../lists/page.ts";
import { resolveSpace, spaceNamespaces } from "../cf/org/org-and-space-namespaces.ts";
import type { Session } from "../access/session.ts";
import { destinationEndpoints } from "./destinations.ts";
import { appRouteListQuery, createRouteBody, routeGetQuery, routeListQuery, updateRouteBody } from "./payload.ts";
import { presentRoute, routeTextKey } from "./present.ts";
import { routeSharingEndpoints } from "./sharing.ts";

const path = "/v3/routes/:guid";

interface ListRequest {
  session: Session;
  query: z.output<typeof appRouteListQuery> & { app_guids?: string[] | undefined };
  base: string;
  url: string;
}

function listReply(request: ListRequest, app?: App): Reply {
  const { session, query, base, url } = request;
  const namespaces = listedNamespaces(session, query);
  const within = app ? { index: ["app", appKey(app)] as const } : namespaces && { namespaces };
  // Made when routes are filtered: a remembered list filters none.
  let filter: ((route: Route) => boolean) | undefined;
  const routes = listObjects(session, Route, query, {
    url,
    ...(within && { scope: within }),
    filter: (route) => (filter ??= filterOf(request))(route),
    dependsOn: [
      Domain,
      App,
      Space,
      Process,
      Droplet,
      ...(query.include ? [Org, OrgQuota, SpaceQuota, RoutePolicy] : []),
    ],
    filterReads: [...(query.app_guids ? [App] : []), ...(query.domain_guids ? [Domain, Space, Org] : [])],
    // A shared route leads to apps of other spaces.
    ...(query.app_guids && { readsIn: session.visibleNamespaces(App) ?? "anywhere" }),
  });
  return ok(
    presentPage(
      routes,
      {
        base,
        url,
        query,
        isCacheable: true,
        textKey: (route) => routeTextKey(session.cache, route, base),
        namespacesOf: (route) => route.spec.destinations.flatMap(({ namespace }) => namespace || []),
      },
      (route) => presentRoute(session.cache, route, base),
      included(session, base, query.include),
    ),
  );
}

/** Namespaces of the wanted routes: those of the filters' spaces, and those of routes shared with these. */
function listedNamespaces(session: Session, query: ListRequest["query"]): string[] | undefined {
  const namespaces = spaceNamespaces(session, query);
  if (!namespaces || !query.space_guids) return namespaces;
  const inOrgs = spaceNamespaces(session, { organization_guids: query.organization_guids });
  const shared = spaceNamespaces(session, { space_guids: query.space_guids })?.flatMap((namespace) =>
    session.cache.store(Route).byIndex("sharedWith", namespace),
  );
  const owners = (shared ?? []).map(({ metadata }) => metadata.namespace ?? "");
  return [...new Set([...namespaces, ...owners.filter((owner) => inOrgs?.includes(owner) ?? true)])];
}

function filterOf({ session, query }: ListRequest): (route: Route) => boolean {
  const hosts = query.hosts?.map(foldHost);
  const apps = query.app_guids?.flatMap((guid) => session.find(App, guid) ?? []);
  const spaces = spaceNamespaces(session, { space_guids: query.space_guids });
  const isInSpaces = (route: Route): boolean => !spaces || spaces.some((namespace) => isAvailableIn(route, namespace));
  const domains = query.domain_guids?.flatMap((guid) => session.find(Domain, guid)?.metadata.uid ?? []);
  const reaches = (route: Route): boolean =>
    !apps || apps.some((app) => route.spec.destinations.some((one) => leadsTo(route, one, app.metadata)));
  return (route) =>
    isOneOf(hosts, foldHost(route.spec.host)) &&
    isOneOf(query.paths, route.spec.path) &&
    (!query.ports || query.ports.includes(route.spec.port)) &&
    isInSpaces(route) &&
    (!domains || domains.includes(domainOf(session.cache, route)?.metadata.uid ?? "")) &&
    reaches(route);
}

function included(
  session: Session,
  base: string,
  include: readonly string[] | undefined,
): ((page: readonly Route[]) => object) | undefined {
  if (!include) return undefined;
  return (page) => ({
    ...(include.includes("route_policies") && { route_policies: includedRoutePolicies(session, base, page) }),
    ...(include.includes("domain") && { domains: includedDomains(session, base, page) }),
    ...(include.some((what) => what.startsWith("space")) &&
      includedSpaces(
        session,
        base,
        page.map((route) => route.metadata.namespace),
        include.includes("space.organization"),
      )),
  });
}

const create = endpoint({
  method: "POST",
  path: "/v3/routes",
  permission: { verb: "create", on: Route },
  asks: [
    { verb: "update", on: Route, subresource: "wildcard" },
    { verb: "delete", on: Route },
  ],
  body: createRouteBody,
  summary: "Create a route",
  handler: async ({ session, body, base }) => {
    const { space, namespace } = resolveSpace(session, body.relationships.space.data.guid);
    const domain = domainInBody(session, body.relationships.domain.data.guid, space);
    const wanted = {
      namespace,
      domain,
      host: body.host ?? "",
      path: body.path ?? "",
      ...(body.options && { options: toOptions(session, body.options) }),
      ...metadataForCreate(body.metadata),
    };
    const route = await createOnFreePort(session, { ...wanted, port: body.port ?? 0 });
    return created(presentRoute(session.cache, route, base));
  },
});

/** Others may take a chosen port first. */
const PORT_ATTEMPTS = 5;

/** A TCP route without a port gets a free one. @throws CFError 422 */
async function createOnFreePort(session: Session, wanted: NewRoute): Promise<Route> {
  const { domain } = wanted;
  const isChosenHere = wanted.port === 0 && wanted.host === "" && wanted.path === "" && isTCPDomain(domain);
  for (let attempt = 1; ; attempt += 1) {
    const port = isChosenHere ? chooseFreePort(session, domain) : wanted.port;
    const taken = takenError({ ...wanted, port }, domain.spec.name);
    try {
      return await createRoute(session, { ...wanted, port }, () => taken);
    } catch (error) {
      if (error !== taken || !isChosenHere || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/** @throws CFError 422 */
function toOptions(session: Session, input: RouteOptionsInput, current?: RouteOptions): RouteOptions {
  const problems = findOptionProblems(input, isFlagOn(session, "hash_based_routing"));
  if (problems.length > 0) throw unprocessable(problems.map((problem) => `Options ${problem}`).join(", "));
  return mergeRouteOptions(current, input);
}

function domainInBody(session: Session, guid: string, space: Space): Domain {
  const domain = session.find(Domain, guid);
  if (!domain) throw unprocessable("Invalid domain. Ensure that the domain exists and you have access to it.");
  const org = session.cache.orgOf(space.metadata.namespace);
  if (!org || !isUsableBy(domain, org))
    throw unprocessable(
      `Invalid domain. Domain '${domain.spec.name}' is not available in organization '${org?.spec.name ?? ""}'.`,
    );
  return domain;
}

function takenError({ host, path: routePath, port }: RouteAddress, domain: string): CFError {
  if (port !== 0) return portUnavailable(port);
  const parts = [host && `host '${host}'`, routePath && `path '${routePath}'`].filter(Boolean).join(" and ");
  return unprocessable(`Route already exists ${parts ? `with ${parts} ` : ""}for domain '${domain}'.`);
}

const rows: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/routes",
    permission: "authenticated",
    lists: [Route],
    query: routeListQuery,
    summary: "List routes",
    handler: (request) => listReply(request),
  }),
  endpoint({
    method: "GET",
    path: "/v3/apps/:guid/routes",
    permission: { verb: "get", on: App },
    query: appRouteListQuery,
    summary: "List routes of an app",
    handler: (request) => listReply(request, request.session.get(App, request.params.guid)),
  }),
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: Route },
    query: routeGetQuery,
    badQueryError: "UnprocessableEntity",
    summary: "Get a route",
    handler: ({ session, params, query, base }) => {
      const route = session.get(Route, params.guid);
      const more = included(session, base, query.include);
      return ok({ ...presentRoute(session.cache, route, base), ...(more && { included: more([route]) }) });
    },
  }),
  create,
  endpoint({
    method: "PATCH",
    path,
    permission: { verb: "patch", on: Route },
    body: updateRouteBody,
    summary: "Update a route",
    handler: async ({ session, params, body, base }) => {
      const route = session.get(Route, params.guid);
      return ok(
        presentRoute(
          session.cache,
          await session.patch(Route, route, {
            type: "merge",
            body: {
              metadata: toMetadataPatch(body.metadata, route),
              ...(body.options && {
                spec: { options: toOptionsPatch(toOptions(session, body.options, route.spec.options)) },
              }),
            },
          }),
          base,
        ),
      );
    },
  }),
  endpoint({
    method: "DELETE",
    path,
    permission: { verb: "delete", on: Route },
    summary: "Delete a route",
    handler: async ({ session, params }) => {
      const route = session.get(Route, params.guid);
      const guid = session.cache.guid(Route, route);
      await session.delete(Route, route);
      return accepted(await newDeletionJob(session, Route, guid));
    },
  }),
];

export const routeEndpoints: readonly Endpoint[] = [...rows, ...destinationEndpoints, ...routeSharingEndpoints];
