// Kinds that the platform does not have yet, which clients request anyway: lists are always empty, one by its GUID is not found.
import { z } from "zod";
import { endpoint, ok, type Endpoint, type Reply } from "../http/endpoint.ts";
import { notFound, unprocessable } from "../http/errors.ts";
import { presentPage } from "../http/page.ts";
import { pagingParameters } from "../http/query.ts";

/** Filters are ignored, since the list is empty anyway. */
const emptyQuery = z.object(pagingParameters);

/** Kinds that do not exist here. */
const EMPTY_LISTS = ["service_brokers", "service_offerings", "service_plans", "service_route_bindings"] as const;

/** Open to clients without a login, as in CF. */
const MARKETPLACE = new Set<string>(["service_offerings", "service_plans"]);

function emptyPage({ base, url, query }: { base: string; url: string; query: z.output<typeof emptyQuery> }): Reply {
  return ok(presentPage([], { base, url, query }, () => ({})));
}

const lists = EMPTY_LISTS.map((name) =>
  endpoint({
    method: "GET",
    path: `/v3/${name}`,
    permission: MARKETPLACE.has(name) ? "anonymous" : "authenticated",
    query: emptyQuery,
    isAlwaysEmpty: true,
    summary: `List ${name.replaceAll("_", " ")}: always empty for now`,
    handler: (request) => emptyPage(request),
  }),
);

/** What CF calls one of them. */
const SINGULAR: Record<(typeof EMPTY_LISTS)[number], string> = {
  service_brokers: "Service broker",
  service_offerings: "Service offering",
  service_plans: "Service plan",
  service_route_bindings: "Service route binding",
};

/** None of them exists, so whoever asks for one learns that, as in CF. */
const singles = EMPTY_LISTS.flatMap((name) =>
  (["GET", "PATCH", "DELETE"] as const).map((method) =>
    endpoint({
      method,
      path: `/v3/${name}/:guid`,
      permission: "authenticated",
      isAlwaysEmpty: true,
      summary: `${method} one of ${name.replaceAll("_", " ")}: not found for now`,
      handler: () => {
        throw notFound(SINGULAR[name]);
      },
    }),
  ),
);

/** What cf asks for before it knows that there are no services. */
const creations = (["service_brokers"] as const).map((name) =>
  endpoint({
    method: "POST",
    path: `/v3/${name}`,
    permission: "authenticated",
    summary: `Create one of ${name.replaceAll("_", " ")}: refused for now`,
    handler: () => {
      throw unprocessable(
        "Service brokers are not available here yet. Make what the app needs elsewhere, give its credentials with cf create-user-provided-service NAME -p, then bind it.",
      );
    },
  }),
);

export const emptyListEndpoints: readonly Endpoint[] = [...lists, ...singles, ...creations];
