// How the address of a route is written. Pure.
import type { Route } from "./route.ts";

type Address = Pick<Route["spec"], "host" | "path" | "port">;

/** Hosts are one when this is one: a Route keeps the case that its host was given, and nothing compares it. */
export function foldHost(host: string): string {
  return host.toLowerCase();
}

/** The DNS name, in lower case: `host.domain`, `*.domain`, or the domain alone where the host is empty. */
export function routeHostname(route: Pick<Address, "host">, domain: string): string {
  return joinHost(foldHost(route.host), domain);
}

/** Paths are one when this is one: as routers compare them, in any case and whether or not they end in a slash. */
export function foldPath(path: string): string {
  return path.toLowerCase().replace(/\/+$/, "");
}

/** As `cf routes` shows it, the host in the case it was given: `host.domain/path`, or `domain:port` for TCP. No scheme. */
export function routeURL(route: Address, domain: string): string {
  return route.port ? `${domain}:${route.port}` : `${joinHost(route.host, domain)}${route.path}`;
}

function joinHost(host: string, domain: string): string {
  return host ? `${host}.${domain}` : domain;
}
