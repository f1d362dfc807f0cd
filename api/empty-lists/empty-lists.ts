// Lists of kinds that the platform does not have yet, which clients request anyway: always empty. README names them.
import { z } from "zod";
import { endpoint, ok, type Endpoint, type Reply } from "../http/endpoint.ts";
import { presentPage } from "../http/page.ts";
import { pagingParameters } from "../http/query.ts";

/** Filters are ignored, since the list is empty anyway. */
const emptyQuery = z.object(pagingParameters);

/** Kinds that do not exist here. */
const EMPTY_LISTS = [
  "service_instances",
  "service_brokers",
  "service_offerings",
  "service_plans",
  "service_credential_bindings",
  "service_route_bindings",
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

export const emptyListEndpoints: readonly Endpoint[] = lists;
