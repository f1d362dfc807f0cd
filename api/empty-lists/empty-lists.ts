// Lists and relationships of kinds that the platform does not have yet, which clients request anyway: always empty. README names them.
import { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import { endpoint, ok, type Endpoint, type Reply } from "../http/endpoint.ts";
import { presentPage } from "../http/page.ts";
import { pagingParameters } from "../http/query.ts";

/** Filters are ignored, since the list is empty anyway. */
const emptyQuery = z.object(pagingParameters);

/** Kinds that do not exist here. */
const EMPTY_LISTS = [
  "isolation_segments",
  "security_groups",
  "space_quotas",
  "service_instances",
  "service_brokers",
  "service_offerings",
  "service_plans",
  "service_credential_bindings",
  "service_route_bindings",
  "deployments",
  "audit_events",
  "app_usage_events",
  "service_usage_events",
  "tasks",
] as const;

function emptyPage({ base, url, query }: { base: string; url: string; query: z.output<typeof emptyQuery> }): Reply {
  return ok(presentPage([], { base, url, query }, () => ({})));
}

const lists = EMPTY_LISTS.map((name) =>
  endpoint({
    method: "GET",
    path: `/v3/${name}`,
    permission: "authenticated",
    query: emptyQuery,
    isAlwaysEmpty: true,
    summary: `List ${name.replaceAll("_", " ")}: always empty for now`,
    handler: (request) => emptyPage(request),
  }),
);

/** Lists below an object: 404 when the caller does not see the object. */
const nestedLists = [
  { path: "/v3/spaces/:guid/running_security_groups", on: Space },
  { path: "/v3/spaces/:guid/staging_security_groups", on: Space },
  { path: "/v3/apps/:guid/tasks", on: App },
  { path: "/v3/apps/:guid/sidecars", on: App },
] as const;
const nested = nestedLists.map(({ path, on }) =>
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on },
    query: emptyQuery,
    isAlwaysEmpty: true,
    summary: "Always empty for now",
    handler: (request) => {
      if (on === Space) request.session.get(Space, request.params.guid);
      else request.session.get(App, request.params.guid);
      return emptyPage(request);
    },
  }),
);

const segments = [
  endpoint({
    method: "GET",
    path: "/v3/organizations/:guid/relationships/default_isolation_segment",
    permission: { verb: "get", on: Org },
    isAlwaysEmpty: true,
    summary: "Always empty: there are no isolation segments",
    handler: ({ session, params, base }) => {
      session.get(Org, params.guid);
      return ok({
        data: null,
        links: { self: { href: `${base}/v3/organizations/${params.guid}/relationships/default_isolation_segment` } },
      });
    },
  }),
  endpoint({
    method: "GET",
    path: "/v3/spaces/:guid/relationships/isolation_segment",
    permission: { verb: "get", on: Space },
    isAlwaysEmpty: true,
    summary: "Always empty: there are no isolation segments",
    handler: ({ session, params, base }) => {
      session.get(Space, params.guid);
      return ok({
        data: null,
        links: { self: { href: `${base}/v3/spaces/${params.guid}/relationships/isolation_segment` } },
      });
    },
  }),
];

export const emptyListEndpoints: readonly Endpoint[] = [...lists, ...nested, ...segments];
