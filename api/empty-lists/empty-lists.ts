// Kinds that the platform does not have yet, which clients request anyway: lists are always empty, one by its GUID is not found.
import { z } from "zod";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { notFound } from "../http/errors.ts";
import { presentPage } from "../lists/page.ts";
import { pagingParameters } from "../http/query.ts";

/** Filters are ignored, since the list is empty anyway. */
const emptyQuery = z.object(pagingParameters);

const path = "/v3/service_route_bindings";

const list = endpoint({
  method: "GET",
  path,
  permission: "authenticated",
  query: emptyQuery,
  isAlwaysEmpty: true,
  summary: "List service route bindings: always empty for now",
  handler: ({ base, url, query }) => ok(presentPage([], { base, url, query }, () => ({}))),
});

/** None exists, so whoever asks for one learns that, as in CF. */
const singles = (["GET", "PATCH", "DELETE"] as const).map((method) =>
  endpoint({
    method,
    path: `${path}/:guid`,
    permission: "authenticated",
    isAlwaysEmpty: true,
    summary: `${method} one of service route bindings: not found for now`,
    handler: () => {
      throw notFound("Service route binding");
    },
  }),
);

export const emptyListEndpoints: readonly Endpoint[] = [list, ...singles];
