// URLs of the routes that lead to an app, for VCAP_APPLICATION.
import { creationSortKey } from "../../crds/guid.ts";
import { leadsTo } from "../../crds/route/destinations.ts";
import { routeURL } from "../../crds/route/route-url.ts";
import { Route } from "../../crds/route/route.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { findEffectiveDomain } from "./domains.ts";
import type { Tenancy } from "./tenancy.ts";

/** URLs without a scheme, oldest first, of the routes of the app's own space; only those of the process `processType` if given. */
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
  return read
    .list(Route, { namespace: app.namespace })
    .filter(leadsHere)
    .toSorted((a, b) => (creationSortKey(a) < creationSortKey(b) ? -1 : 1))
    .flatMap((route) => {
      const domain = findEffectiveDomain(read, route, tenancy);
      return domain ? [routeURL(route.spec, domain.spec.name)] : [];
    });
}
