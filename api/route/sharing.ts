// Routes shared between spaces, behind the feature flag route_sharing: `/v3/routes/:guid/relationships`.
import { z } from "zod";
import { App } from "../../crds/app/app.ts";
import { withoutSpace } from "../../crds/route/destinations.ts";
import { MAX_SHARED_SPACES, Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import type { Session } from "../access/session.ts";
import { isSuspendedFor } from "../access/suspension.ts";
import { requireFlag } from "../cf/feature-flags.ts";
import { findTargets, mayChangeIn, shareWith, visibleNamespace, type SharedKind } from "../cf/space-sharing.ts";
import { domainOf, isUsableBy } from "../cache/domains.ts";
import { moveRoute } from "../cf/route/move-route.ts";
import { routeURLOf } from "../cf/route/route-url.ts";
import { endpoint, noContent, ok, type Endpoint } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import { link } from "../http/presentation.ts";
import { addToManySchema } from "../http/shared-schemas.ts";

const path = "/v3/routes/:guid/relationships";
const write = { verb: "patch", on: Route } as const;
const ROUTES: SharedKind<Route> = { ref: Route, noun: "route", plural: "Routes", most: MAX_SHARED_SPACES };

/** The route, once the flag allows sharing. @throws CFError 403, 404 */
function sharableRoute(session: Session, guid: string): Route {
  requireFlag(session, "route_sharing");
  return session.get(Route, guid);
}

function presentSharedSpaces({ cache }: Session, route: Route, base: string): object {
  const spaces = (route.spec.sharedSpaces ?? []).flatMap((namespace) => cache.spaceOf(namespace) ?? []);
  return {
    data: spaces.map((space) => ({ guid: cache.guid(Space, space) })),
    links: { self: link(`${base}/v3/routes/${cache.guid(Route, route)}/relationships/shared_spaces`) },
  };
}

/** The namespace of a space that the caller may give the route to, or take it from. `action` begins the refusal. @throws CFError 422 */
function requireTarget(session: Session, guid: string, action: string): string {
  const namespace = visibleNamespace(session, guid);
  if (namespace === undefined) throw unprocessable(`${action} Ensure the space exists and that you have access to it.`);
  if (!mayChangeIn(session, Route, namespace))
    throw unprocessable(`${action} You don't have write permission for the target space.`);
  if (isSuspendedFor(session, namespace))
    throw unprocessable(`${action} The target organization or space is suspended.`);
  return namespace;
}

export const routeSharingEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: `${path}/shared_spaces`,
    permission: { verb: "get", on: Route },
    summary: "List the spaces that a route is shared with",
    handler: ({ session, params, base }) => ok(presentSharedSpaces(session, sharableRoute(session, params.guid), base)),
  }),
  endpoint({
    method: "POST",
    path: `${path}/shared_spaces`,
    permission: write,
    body: addToManySchema,
    summary: "Share a route with other spaces",
    handler: async ({ session, params, body, base }) => {
      const route = sharableRoute(session, params.guid);
      const targets = body.data.map(({ guid }) => guid);
      const name = routeURLOf(session.cache, route);
      const namespaces = findTargets(session, ROUTES, { object: route, name }, targets);
      return ok(presentSharedSpaces(session, await shareWith(session, ROUTES, route, namespaces), base));
    },
  }),
  endpoint({
    method: "DELETE",
    path: `${path}/shared_spaces/:space`,
    permission: write,
    summary: "Unshare a route; its destinations in that space go, too",
    handler: async ({ session, params }) => {
      const route = sharableRoute(session, params.guid);
      const action = `Unable to unshare route '${routeURLOf(session.cache, route)}' from space '${params.space}'.`;
      const namespace = requireTarget(session, params.space, action);
      if (namespace === route.metadata.namespace)
        throw unprocessable(`${action} Routes cannot be removed from the space that owns them.`);
      await session.patchWithRetry(Route, route, (current) => {
        const spec = withoutSpace(current, namespace);
        return spec && { spec };
      });
      return noContent();
    },
  }),
  endpoint({
    method: "PATCH",
    path: `${path}/space`,
    // As in CF, developers alone: a supporter may write routes, but makes no apps.
    permission: [write, { verb: "delete", on: Route }, { verb: "create", on: App }],
    asks: [{ verb: "create", on: Route }],
    body: z.strictObject({ data: z.strictObject({ guid: z.string().min(1).max(200) }) }),
    summary: "Give a route to another space, which shares it with the former one",
    handler: async ({ session, params, body }) => {
      const route = sharableRoute(session, params.guid);
      session.authorize({ verb: "create", on: App, namespace: route.metadata.namespace ?? "" });
      const url = routeURLOf(session.cache, route);
      const action = `Unable to transfer owner of route '${url}' to space '${body.data.guid}'.`;
      const namespace = requireTarget(session, body.data.guid, action);
      if (namespace === route.metadata.namespace) return ok({ status: "ok" });
      const domain = domainOf(session.cache, route);
      const org = session.cache.orgOf(session.cache.spaceOf(namespace)?.metadata.namespace);
      if (!domain || !org || !isUsableBy(domain, org))
        throw unprocessable(`${action} Target space does not have access to route's domain`);
      await moveRoute(session, route, { namespace, domain });
      return ok({ status: "ok" });
    },
  }),
];
