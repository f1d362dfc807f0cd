// Routes shared between spaces: `/v3/routes/:guid/relationships`. As in CF a feature flag, off by default, refuses it; no router serves it here yet.
import { z } from "zod";
import { Route } from "../../crds/route/route.ts";
import type { Session } from "../access/session.ts";
import { requireFlag } from "../cf/feature-flags.ts";
import { routeURLOf } from "../cf/route/route-url.ts";
import { endpoint, ok, type Endpoint } from "../http/endpoint.ts";
import { type CFError, unprocessable } from "../http/errors.ts";
import { link } from "../http/presentation.ts";
import { toManySchema } from "../http/shared-schemas.ts";

const path = "/v3/routes/:guid/relationships";
const write = { verb: "patch", on: Route } as const;

/** The route, once the flag allows sharing. @throws CFError 403, 404 */
function sharableRoute(session: Session, guid: string): Route {
  requireFlag(session, "route_sharing");
  return session.get(Route, guid);
}

function refusal(session: Session, guid: string, action: string): CFError {
  const url = routeURLOf(session.cache, sharableRoute(session, guid));
  return unprocessable(
    `Unable to ${action} route '${url}': a route belongs to one space here. Delete it and create it in the other space.`,
  );
}

export const routeSharingEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: `${path}/shared_spaces`,
    permission: { verb: "get", on: Route },
    isAlwaysEmpty: true,
    summary: "List the spaces that a route is shared with: always empty for now",
    handler: ({ session, params, base }) => {
      sharableRoute(session, params.guid);
      return ok({ data: [], links: { self: link(`${base}/v3/routes/${params.guid}/relationships/shared_spaces`) } });
    },
  }),
  endpoint({
    method: "POST",
    path: `${path}/shared_spaces`,
    permission: write,
    body: toManySchema,
    summary: "Share a route: refused for now",
    handler: ({ session, params }) => {
      throw refusal(session, params.guid, "share");
    },
  }),
  endpoint({
    method: "DELETE",
    path: `${path}/shared_spaces/:space`,
    permission: write,
    summary: "Unshare a route: refused for now",
    handler: ({ session, params }) => {
      throw refusal(session, params.guid, "unshare");
    },
  }),
  endpoint({
    method: "PATCH",
    path: `${path}/space`,
    permission: write,
    body: z.strictObject({ data: z.strictObject({ guid: z.string() }) }),
    summary: "Give a route to another space: refused for now",
    handler: ({ session, params }) => {
      throw refusal(session, params.guid, "transfer owner of");
    },
  }),
];
