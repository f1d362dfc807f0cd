// How the address of a route is written. Pure.
import type { Route } from "./route.ts";

type Address = Pick<Route["spec"], "host" | "path" | "port">;

/** `host.domain`, `*.domain`, or the domain alone where the host is empty. */
export function routeHostname(route: Pick<Address, "host">, domain: string): string {
  return route.host ? `${route.host}.${domain}` : domain;
}

/** Paths are one when this is one: as routers compare them, in any case and whether or not they end in a slash. */
export function foldPath(path: string): string {
  return path.toLowerCase().replace(/\/+$/, "");
}

/** As `cf routes` shows it: `host.domain/path`, or `domain:port` for TCP. No scheme. */
export function routeURL(route: Address, domain: string): string {
  return route.port ? `${domain}:${route.port}` : `${routeHostname(route, domain)}${route.path}`;
}
