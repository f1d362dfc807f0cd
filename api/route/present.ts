// How a Route and its destinations go out.
import { App } from "../../crds/app/app.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { derivedGUID } from "../../crds/guid.ts";
import { Process } from "../../crds/process/process.ts";
import { effectivePorts, processName } from "../../crds/process/defaults.ts";
import { Route, type Destination } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { currentDroplet } from "../cf/app-children.ts";
import { domainOf } from "../cf/domains.ts";
import { identityOf, link, metadataMember, toOne } from "../http/presentation.ts";
import { urlOf } from "../cf/route-url.ts";
import { createdAt, updatedAt } from "../cache/object-times.ts";
import type { View } from "../cache/cluster-cache.ts";

export function presentRoute(view: View, route: Route, base: string): object {
  const at = identityOf(view, Route, route);
  const space = view.spaceOf(route.metadata.namespace);
  const spaceGUID = space && view.guid(Space, space);
  const domain = domainOf(view, route);
  const domainGUID = domain && view.guid(Domain, domain);
  const { host, path, port } = route.spec;
  const self = `${base}/v3/routes/${at.guid}`;
  return {
    ...at,
    protocol: port ? "tcp" : "http",
    host,
    path,
    port: port || null,
    url: urlOf(view, route),
    destinations: presentDestinations(view, route),
    relationships: { space: toOne(spaceGUID), domain: toOne(domainGUID) },
    ...metadataMember(route),
    links: { self: link(self), space: link(`${base}/v3/spaces/${spaceGUID ?? ""}`), destinations: link(`${self}/destinations`), domain: link(`${base}/v3/domains/${domainGUID ?? ""}`) },
  };
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

/** Destinations whose app is there, by GUID. */
export function presentDestinations(view: View, route: Route): PresentedDestination[] {
  return route.spec.destinations
    .flatMap((destination) => {
      const app = view.store(App).find({ namespace: route.metadata.namespace ?? "", name: destination.app });
      return app ? [presentDestination(view, route, { destination, app })] : [];
    })
    .sort((one, other) => (one.guid < other.guid ? -1 : 1));
}

function presentDestination(view: View, route: Route, { destination, app }: { destination: Destination; app: App }): PresentedDestination {
  return {
    guid: destinationGUID(view, route, destination),
    app: { guid: view.guid(App, app), process: { type: destination.process } },
    weight: destination.weight ?? null,
    port: portOf(view, app, destination),
    protocol: destination.protocol,
    created_at: createdAt(route),
    updated_at: updatedAt(route),
  };
}

/** A destination is no object: its GUID follows from its route, app, process and port. */
export function destinationGUID(view: View, route: Route, { app, process, port }: Destination): string {
  return derivedGUID("destination", view.guid(Route, route), app, process, String(port));
}

/** The port that is meant: its own, else the process's first one. */
export function portOf(view: View, app: App, { port, process: type }: Destination): number {
  if (port) return port;
  const process = view.store(Process).find({ namespace: app.metadata.namespace ?? "", name: processName(app.metadata.name, type) });
  return effectivePorts(process?.spec.ports, currentDroplet(view, app)?.spec.ports)[0] ?? 8080;
}

/** The body of `/destinations`. */
export function presentDestinationList(view: View, route: Route, base: string) {
  const self = `${base}/v3/routes/${view.guid(Route, route)}`;
  return { destinations: presentDestinations(view, route), links: { self: link(`${self}/destinations`), route: link(self) } };
}
