// URLs of the routes that lead to an app, for VCAP_APPLICATION.
import { creationSortKey } from "../../crds/guid.ts";
import { appNamespaceOf, isAvailableIn, leadsTo } from "../../crds/route/destinations.ts";
import { routeURL } from "../../crds/route/route-url.ts";
import { Route } from "../../crds/route/route.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { appKey } from "./app-owned.ts";
import { findEffectiveDomain } from "./domains.ts";
import type { Tenancy } from "./tenancy.ts";

/** Index of Routes by the apps that they lead to: `namespace/app`. A space may have thousands of other routes. The route controller keeps it. */
export const DESTINATION_INDEX = "controllers/destination";

export function indexByDestination(route: Route): string[] {
  const keys = route.spec.destinations.map((destination) =>
    appKey(appNamespaceOf(route, destination), destination.app),
  );
  return [...new Set(keys)];
}

/** Index of Routes by the apps of other spaces that they lead to: `namespace/app`. The route controller keeps it. */
export const FOREIGN_APP_INDEX = "controllers/foreign-app";

export function indexByForeignApp(route: Route): string[] {
  const foreign = route.spec.destinations.filter(({ namespace }) => namespace);
  return [...new Set(foreign.map(({ namespace, app }) => `${namespace}/${app}`))];
}

/** URLs without a scheme, oldest first, also of routes that are shared with the app's space; only those of the process `processType` if given. */
export function listRouteURLs(
  read: Reader,
  app: { namespace?: string | undefined; name: string; processType?: string },
  tenancy: Tenancy,
): string[] {
  const leadsHere = (route: Route): boolean =>
    route.spec.destinations.some(
      (destination) =>
        leadsTo(route, destination, app) && (app.processType === undefined || destination.process === app.processType),
    );
  const isShared = (route: Route): boolean =>
    route.metadata.namespace !== app.namespace && isAvailableIn(route, app.namespace);
  return [
    ...read.byIndex(Route, DESTINATION_INDEX, appKey(app.namespace, app.name), app.namespace),
    ...read.byIndex(Route, FOREIGN_APP_INDEX, `${app.namespace ?? ""}/${app.name}`).filter(isShared),
  ]
    .filter(leadsHere)
    .toSorted((a, b) => (creationSortKey(a) < creationSortKey(b) ? -1 : 1))
    .flatMap((route) => {
      // Its own org decides what the domain of another space's route is; the route's controller found it.
      if (route.metadata.namespace !== app.namespace) return route.status?.url ?? [];
      const domain = findEffectiveDomain(read, route, tenancy);
      return domain ? [routeURL(route.spec, domain.spec.name)] : [];
    });
}
