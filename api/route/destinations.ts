// The destinations of a route: listed, added, replaced, removed. Each is one patch of the Route.
import { App } from "../../crds/app/app.ts";
import { appNamespaceOf, isAvailableIn, toDestinationNamespace } from "../../crds/route/destinations.ts";
import { Route, type Destination } from "../../crds/route/route.ts";
import { endpoint, noContent, ok } from "../routing/endpoint.ts";
import { unprocessable } from "../http/errors.ts";
import type { Session } from "../access/session.ts";
import { routeURLOf } from "../cf/route/route-url.ts";
import { isOneOf } from "../lists/list-objects.ts";
import {
  addDestinations,
  checkReplacement,
  destinationListQuery,
  type DestinationKey,
  insertDestinationsBody,
  replaceDestinationsBody,
  sameDestinations,
  updateDestinationBody,
  type DestinationInput,
} from "./payload.ts";
import { destinationGUID, findDestinationApp, portOf, presentDestinationList, presentDestinations } from "./present.ts";

const path = "/v3/routes/:guid/destinations";
const write = { verb: "patch", on: Route } as const;

function toDestination(session: Session, route: Route, input: DestinationInput): Destination {
  const app = session.find(App, input.app.guid);
  if (!app) throw unprocessable(`App(s) with guid(s) "${input.app.guid}" do not exist or you do not have access.`);
  if (!isAvailableIn(route, app.metadata.namespace))
    throw unprocessable("Routes destinations must be in either the route's space or the route's shared spaces");
  const protocols = protocolsOf(route);
  const protocol = input.protocol ?? protocols[0];
  if (!protocols.includes(protocol)) {
    const kind = route.spec.port === 0 ? "http" : "tcp";
    throw unprocessable(
      `Cannot use '${protocol}' protocol for ${kind} routes; valid options are: [${protocols.join(", ")}].`,
    );
  }
  return {
    app: app.metadata.name,
    namespace: toDestinationNamespace(route, app.metadata.namespace),
    process: input.app.process?.type ?? "web",
    port: input.port ?? 0,
    protocol,
    ...(input.weight && { weight: input.weight }),
  };
}

type Protocol = Destination["protocol"];

/** The first is the default. */
function protocolsOf({ spec }: Route): readonly [Protocol, ...Protocol[]] {
  return spec.port === 0 ? ["http1", "http2"] : ["tcp"];
}

/** Patches from the latest destinations, so that concurrent changes do not overwrite each other. */
async function patchDestinations(
  session: Session,
  route: Route,
  plan: (current: Route) => readonly Destination[],
): Promise<Route> {
  return session.patchWithRetry(Route, route, (current) => {
    const destinations = plan(current);
    return sameDestinations(current, destinations) ? undefined : { spec: { destinations } };
  });
}

/** @throws CFError 422 when the route has no destination with this GUID */
function checkDestination(session: Session, route: Route, guid: string): void {
  if (route.spec.destinations.some((destination) => destinationGUID(session.cache, route, destination) === guid))
    return;
  throw unprocessable("Unable to unmap route from destination. Ensure the route has a destination with this guid.");
}

/** Destinations are compared by effective port, so an omitted port equals the process's default one. */
function keyIn(session: Session, route: Route): DestinationKey {
  return (destination) => {
    const app = findDestinationApp(session.cache, route, destination);
    return [
      appNamespaceOf(route, destination),
      destination.app,
      destination.process,
      app ? portOf(session.cache, app, destination) : destination.port,
    ].join("\n");
  };
}

/** As CF's errors name it. */
function describeDestination({ cache }: Session, route: Route, destination: Destination): string {
  const app = findDestinationApp(cache, route, destination);
  return `route: ${routeURLOf(cache, route)}, app: ${app ? cache.guid(App, app) : destination.app}, process: ${destination.process}`;
}

/** A destination with its links. */
function presentOne(session: Session, route: Route, { guid, base }: { guid: string; base: string }): object {
  const { links } = presentDestinationList(session.cache, route, base);
  return {
    ...presentDestinations(session.cache, route).find((one) => one.guid === guid),
    links: { destinations: links.self, route: links.route },
  };
}

/** @throws CFError 422 for a weighted destination, whose removal would change the sum of the weights */
function checkUnweighted(session: Session, route: Route, guid: string): void {
  const found = route.spec.destinations.find((one) => destinationGUID(session.cache, route, one) === guid);
  if (found?.weight !== undefined) throw unprocessable("Weighted destinations cannot be deleted individually.");
}

export const destinationEndpoints = [
  endpoint({
    method: "GET",
    path,
    permission: { verb: "get", on: Route },
    query: destinationListQuery,
    badQueryError: "UnprocessableEntity",
    summary: "List destinations",
    handler: ({ session, params, query, base }) => {
      const { destinations, links } = presentDestinationList(session.cache, session.get(Route, params.guid), base);
      return ok({
        destinations: destinations.filter(
          (one) => isOneOf(query.guids, one.guid) && isOneOf(query.app_guids, one.app.guid),
        ),
        links,
      });
    },
  }),
  endpoint({
    method: "POST",
    path,
    permission: write,
    body: insertDestinationsBody,
    summary: "Add destinations",
    handler: async ({ session, params, body, base }) => {
      const route = session.get(Route, params.guid);
      const added = body.destinations.map((input) => toDestination(session, route, input));
      if (added.some((one) => one.weight !== undefined))
        throw unprocessable(
          `Destinations[${added.findIndex((one) => one.weight !== undefined)}]: weighted destinations can only be used when replacing all destinations.`,
        );
      return ok(
        presentDestinationList(
          session.cache,
          await patchDestinations(session, route, (current) =>
            addDestinations(current.spec.destinations, added, {
              key: keyIn(session, route),
              describe: (one) => describeDestination(session, route, one),
            }),
          ),
          base,
        ),
      );
    },
  }),
  endpoint({
    method: "PATCH",
    path,
    permission: write,
    body: replaceDestinationsBody,
    summary: "Replace destinations",
    handler: async ({ session, params, body, base }) => {
      const route = session.get(Route, params.guid);
      const destinations = body.destinations.map((input) => toDestination(session, route, input));
      checkReplacement(destinations, keyIn(session, route));
      return ok(
        presentDestinationList(session.cache, await patchDestinations(session, route, () => destinations), base),
      );
    },
  }),
  endpoint({
    method: "PATCH",
    path: `${path}/:destination`,
    permission: write,
    body: updateDestinationBody,
    summary: "Change a destination's protocol",
    handler: async ({ session, params, body, base }) => {
      const route = session.get(Route, params.guid);
      const guid = params.destination;
      checkDestination(session, route, guid);
      const protocols = protocolsOf(route);
      const protocol = body.protocol === undefined ? undefined : (body.protocol ?? protocols[0]);
      if (protocol && !protocols.includes(protocol))
        throw unprocessable(
          route.spec.port === 0
            ? "Destination protocol must be 'http1' or 'http2' if the parent route's protocol is 'http'"
            : "Destination protocol must be 'tcp' if the parent route's protocol is 'tcp'",
        );
      const after = await patchDestinations(session, route, (current) =>
        current.spec.destinations.map((one) =>
          protocol && destinationGUID(session.cache, route, one) === guid ? { ...one, protocol } : one,
        ),
      );
      return ok(presentOne(session, after, { guid, base }));
    },
  }),
  endpoint({
    method: "DELETE",
    path: `${path}/:destination`,
    permission: write,
    summary: "Remove a destination",
    handler: async ({ session, params }) => {
      const route = session.get(Route, params.guid);
      const guid = params.destination;
      checkDestination(session, route, guid);
      checkUnweighted(session, route, guid);
      await patchDestinations(session, route, (current) =>
        current.spec.destinations.filter((one) => destinationGUID(session.cache, route, one) !== guid),
      );
      return noContent();
    },
  }),
];
