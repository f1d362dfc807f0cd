// The HTTP face of Route: `/v3/routes` and the routes of an app. Destinations are in destinations.ts.
import type { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { accepted, created, endpoint, ok, type Endpoint, type Reply } from "../http/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { includedDomains, includedSpaces } from "../http/included.ts";
import { newJob } from "../jobs/jobs.ts";
import { appKey } from "../cf/app-children.ts";
import { domainOf, isUsableBy } from "../cf/domains.ts";
import { listObjects, isOneOf } from "../cache/list-objects.ts";
import { toNewMetadata, toMetadataPatch } from "../cf/metadata.ts";
import { createRoute } from "../cf/create-route.ts";
import { presentPage } from "../http/page.ts";
import { resolveSpace, spaceNamespaces } from "../cf/scopes.ts";
import type { Session } from "../access/session.ts";
import { destinationEndpoints } from "./destinations.ts";
import { appRouteListQuery, createRouteBody, routeGetQuery, routeListQuery, updateRouteBody } from "./payload.ts";
import { presentRoute } from "./present.ts";

const path = "/v3/routes/:guid";

interface ListRequest {
  as: Session;
  query: z.output<typeof appRouteListQuery> & { app_guids?: string[] | undefined };
  base: string;
  url: string;
}

function listReply(request: ListRequest, app?: App): Reply {
  const { as, query, base, url } = request;
  const namespaces = spaceNamespaces(as, query);
  const within = app ? { index: ["app", appKey(app)] as const } : namespaces && { namespaces };
  const routes = listObjects(as, Route, query, {
    url,
    ...(within && { scope: within }),
    filter: filterOf(request),
    dependsOn: [Domain, App, Space],
  });
  return ok(
    presentPage(
      routes,
      { base, url, query, changeCount: as.cache.changeCount() },
      (route) => presentRoute(as.cache, route, base),
      included(as, base, query.include),
    ),
  );
}

function filterOf({ as, query }: ListRequest): (route: Route) => boolean {
  const hosts = query.hosts?.map((host) => host.toLowerCase());
  const apps = query.app_guids?.flatMap((guid) => as.find(App, guid) ?? []);
  const domains = query.domain_guids?.flatMap((guid) => as.find(Domain, guid)?.metadata.uid ?? []);
  const reaches = (route: Route): boolean =>
    !apps ||
    apps.some(
      (app) =>
        app.metadata.namespace === route.metadata.namespace &&
        route.spec.destinations.some((one) => one.app === app.metadata.name),
    );
  return (route) =>
    isOneOf(hosts, route.spec.host) &&
    isOneOf(query.paths, route.spec.path) &&
    (!query.ports || query.ports.includes(route.spec.port)) &&
    (!domains || domains.includes(domainOf(as.cache, route)?.metadata.uid ?? "")) &&
    reaches(route);
}

function included(
  as: Session,
  base: string,
  include: readonly string[] | undefined,
): ((page: readonly Route[]) => object) | undefined {
  if (!include) return undefined;
  return (page) => ({
    ...(include.includes("domain") && { domains: includedDomains(as, base, page) }),
    ...(include.some((what) => what.startsWith("space")) &&
      includedSpaces(
        as,
        base,
        page.map((route) => route.metadata.namespace),
        include.includes("space.organization"),
      )),
  });
}

const create = endpoint(
  "POST",
  "/v3/routes",
  { permission: { verb: "create", on: Route }, body: createRouteBody, summary: "Create a route" },
  async ({ as, body, base }) => {
    const { space, namespace } = resolveSpace(as, body.relationships.space.data.guid);
    const domain = domainInBody(as, body.relationships.domain.data.guid, space);
    const address = { host: body.host ?? "", path: body.path ?? "", port: body.port ?? 0 };
    const route = await createRoute(as, { namespace, domain, ...address, ...toNewMetadata(body.metadata) }, () =>
      unprocessable(takenText(address, domain.spec.name)),
    );
    return created(presentRoute(as.cache, route, base));
  },
);

function domainInBody(as: Session, guid: string, space: Space): Domain {
  const domain = as.find(Domain, guid);
  if (!domain) throw unprocessable("Invalid domain. Ensure that the domain exists and you have access to it.");
  const org = as.cache.orgOf(space.metadata.namespace);
  if (!org || !isUsableBy(domain, org))
    throw unprocessable(
      `Invalid domain. Domain '${domain.spec.name}' is not available in organization '${org?.spec.name ?? ""}'.`,
    );
  return domain;
}

function takenText({ host, path: routePath }: { host: string; path: string }, domain: string): string {
  const parts = [host && `host '${host}'`, routePath && `path '${routePath}'`].filter(Boolean).join(" and ");
  return `Route already exists ${parts ? `with ${parts} ` : ""}for domain '${domain}'.`;
}

const rows: readonly Endpoint[] = [
  endpoint(
    "GET",
    "/v3/routes",
    { permission: "authenticated", query: routeListQuery, summary: "List routes" },
    (request) => listReply(request),
  ),
  endpoint(
    "GET",
    "/v3/apps/:guid/routes",
    { permission: { verb: "get", on: App }, query: appRouteListQuery, summary: "List routes of an app" },
    (request) => listReply(request, request.as.get(App, request.params["guid"] ?? "")),
  ),
  endpoint(
    "GET",
    path,
    {
      permission: { verb: "get", on: Route },
      query: routeGetQuery,
      badQueryError: "UnprocessableEntity",
      summary: "Get a route",
    },
    ({ as, params, query, base }) => {
      const route = as.get(Route, params["guid"] ?? "");
      const more = included(as, base, query.include);
      return ok({ ...presentRoute(as.cache, route, base), ...(more && { included: more([route]) }) });
    },
  ),
  create,
  endpoint(
    "PATCH",
    path,
    { permission: { verb: "patch", on: Route }, body: updateRouteBody, summary: "Update a route" },
    async ({ as, params, body, base }) => {
      const route = as.get(Route, params["guid"] ?? "");
      return ok(
        presentRoute(
          as.cache,
          await as.patch(Route, route, { type: "merge", body: { metadata: toMetadataPatch(body.metadata, route) } }),
          base,
        ),
      );
    },
  ),
  endpoint(
    "DELETE",
    path,
    { permission: { verb: "delete", on: Route }, summary: "Delete a route" },
    async ({ as, params }) => {
      const route = as.get(Route, params["guid"] ?? "");
      const guid = as.cache.guid(Route, route);
      await as.delete(Route, route);
      return accepted(newJob("route.delete", guid, as.now()));
    },
  ),
];

export const routeEndpoints: readonly Endpoint[] = [...rows, ...destinationEndpoints];
