// Presents a Route and its destinations as CF's JSON.
import { App } from "../../crds/app/app.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { deriveGUID } from "../../crds/guid.ts";
import { Process } from "../../crds/process/process.ts";
import { effectivePorts, processName } from "../../crds/process/defaults.ts";
import { appNamespaceOf } from "../../crds/route/destinations.ts";
import { Route, type Destination } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { currentDroplet } from "../cf/app/current-droplet.ts";
import { domainOf } from "../cache/domains.ts";
import type { CacheKey } from "../lists/cached-json.ts";
import { presentIdentity, link, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import { presentRouteOptions } from "../cf/route/route-options.ts";
import { routeURLOf } from "../cf/route/route-url.ts";
import { createdAt, updatedAt } from "../cache/object-times.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

export function presentRoute(cache: ClusterCache, route: Route, base: string): object {
  const at = presentIdentity(cache, Route, route);
  const space = cache.spaceOf(route.metadata.namespace);
  const spaceGUID = space && cache.guid(Space, space);
  const domain = domainOf(cache, route);
  const domainGUID = domain && cache.guid(Domain, domain);
  const { host, path, port } = route.spec;
  const self = `${base}/v3/routes/${at.guid}`;
  return {
    ...at,
    protocol: port ? "tcp" : "http",
    host,
    path,
    port: port || null,
    url: routeURLOf(cache, route),
    destinations: presentDestinations(cache, route),
    ...(route.spec.options && { options: presentRouteOptions(route.spec.options) }),
    relationships: { space: toOneRelationship(spaceGUID), domain: toOneRelationship(domainGUID) },
    ...presentMetadata(route),
    links: {
      self: link(self),
      space: link(`${base}/v3/spaces/${spaceGUID ?? ""}`),
      destinations: link(`${self}/destinations`),
      domain: link(`${base}/v3/domains/${domainGUID ?? ""}`),
    },
  };
}

/** Everything besides the route that its presentation depends on. */
export function routeTextKey(cache: ClusterCache, route: Route, base: string): CacheKey {
  const space = cache.spaceOf(route.metadata.namespace);
  const domain = domainOf(cache, route);
  const destinations = route.spec.destinations.flatMap((destination) => {
    const app = findDestinationApp(cache, route, destination);
    return app ? [cache.guid(App, app), String(portOf(cache, app, destination))] : [null];
  });
  return [
    base,
    cache.guid(Route, route),
    space && cache.guid(Space, space),
    domain && cache.guid(Domain, domain),
    domain?.spec.name,
    ...destinations,
  ];
}

interface PresentedDestination {
  guid: string;
  app: { guid: string; process: { type: string } };
  weight: number | null;
  port: number;
  protocol: string;
  created_at: string;
  updated_at: string;
}

/** Destinations whose app exists, by destination GUID. */
export function presentDestinations(cache: ClusterCache, route: Route): PresentedDestination[] {
  return route.spec.destinations
    .flatMap((destination) => {
      const app = findDestinationApp(cache, route, destination);
      return app ? [presentDestination(cache, route, { destination, app })] : [];
    })
    .sort((one, other) => (one.guid < other.guid ? -1 : 1));
}

function presentDestination(
  cache: ClusterCache,
  route: Route,
  { destination, app }: { destination: Destination; app: App },
): PresentedDestination {
  return {
    guid: destinationGUID(cache, route, destination),
    app: { guid: cache.guid(App, app), process: { type: destination.process } },
    weight: destination.weight ?? null,
    port: portOf(cache, app, destination),
    protocol: destination.protocol,
    created_at: createdAt(route),
    updated_at: updatedAt(route),
  };
}

/** The app of a destination; undefined when it does not exist. */
export function findDestinationApp(cache: ClusterCache, route: Route, destination: Destination): App | undefined {
  return cache.store(App).find({ namespace: appNamespaceOf(route, destination), name: destination.app });
}

/** Destinations are not objects, so the GUID is derived from route, app, process and port; for an app of another space from its namespace, too. */
export function destinationGUID(cache: ClusterCache, route: Route, destination: Destination): string {
  const { app, namespace, process, port } = destination;
  const place = namespace ? [namespace] : [];
  return deriveGUID("destination", cache.guid(Route, route), ...place, app, process, String(port));
}

/** The effective port: the destination's own, else the process's first one. */
export function portOf(cache: ClusterCache, app: App, { port, process: type }: Destination): number {
  if (port) return port;
  const process = cache
    .store(Process)
    .find({ namespace: app.metadata.namespace ?? "", name: processName(app.metadata.name, type) });
  return effectivePorts(process?.spec.ports, currentDroplet(cache, app)?.spec.ports)[0];
}

/** The reply body of `/destinations`. */
export function presentDestinationList(cache: ClusterCache, route: Route, base: string) {
  const self = `${base}/v3/routes/${cache.guid(Route, route)}`;
  return {
    destinations: presentDestinations(cache, route),
    links: { self: link(`${self}/destinations`), route: link(self) },
  };
}
