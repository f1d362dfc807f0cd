// The address of a route as CF shows it.
import type { Route } from "../../../crds/route/route.ts";
import { routeURL } from "../../../crds/route/route-url.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { domainOf } from "../../cache/domains.ts";

/** `host.domain/path`; if the Domain is missing, its object name replaces the domain. */
export function routeURLOf(cache: ClusterCache, route: Route): string {
  return routeURL(route.spec, domainOf(cache, route)?.spec.name ?? route.spec.domainRef.name);
}
