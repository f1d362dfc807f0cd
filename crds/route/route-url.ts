// Formats the address of a route. Pure.
import type { Route } from "./route.ts";

type Address = Pick<Route["spec"], "host" | "path" | "port">;

/** Two hosts are equal when their folded forms are. A Route keeps the case of its host for display only. */
export function foldHost(host: string): string {
  return host.toLowerCase();
}

/** The DNS name, in lower case: `host.domain`, `*.domain`, or the domain alone where the host is empty. */
export function routeHostname(route: Pick<Address, "host">, domain: string): string {
  return joinHost(foldHost(route.host), domain);
}

/** Two paths are equal when their folded forms are: routers ignore case and trailing slashes. */
export function foldPath(path: string): string {
  return path.toLowerCase().replace(/\/+$/, "");
}

/** The URL as `cf routes` shows it, with the host in its given case: `host.domain/path`, or `domain:port` for TCP. No scheme. */
export function routeURL(route: Address, domain: string): string {
  return route.port ? `${domain}:${route.port}` : `${joinHost(route.host, domain)}${route.path}`;
}

function joinHost(host: string, domain: string): string {
  return host ? `${host}.${domain}` : domain;
}
