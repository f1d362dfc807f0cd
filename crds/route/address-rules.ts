// CF's rules for what one route's address may be, whatever other routes there are. Pure; the API and the route controller share it.
import type { Domain } from "../domain/domain.ts";
import { isSharedDomain } from "../domain/resolve-domain.ts";
import type { Route } from "./route.ts";
import { routeHostname } from "./route-url.ts";

export type AddressProblem =
  "apiHost" | "hostMissing" | "sharedWildcard" | "internalWildcard" | "internalPath" | "hostnameTooLong";

/** DNS allows no longer name. */
const MAX_HOSTNAME = 253;

export interface AddressLimits {
  /** Whether the caller may have all free hosts of a shared domain. */
  mayTakeAll: boolean;
  /** The hostnames of the CF API: a route there would get the tokens of everybody who calls it. */
  apiHosts: readonly string[];
}

/** The first problem of an address. Routes with a port have none of these. */
export function findAddressProblem(
  { host, path, port }: Pick<Route["spec"], "host" | "path" | "port">,
  domain: Domain,
  { mayTakeAll, apiHosts }: AddressLimits,
): AddressProblem | undefined {
  if (port !== 0) return undefined;
  const { name, internal } = domain.spec;
  const hostname = routeHostname({ host }, name);
  const found: [AddressProblem, boolean][] = [
    ["apiHost", apiHosts.includes(hostname)],
    ["hostMissing", isSharedDomain(domain) && host === ""],
    ["sharedWildcard", isSharedDomain(domain) && host === "*" && !mayTakeAll],
    ["internalWildcard", internal && host === "*"],
    ["internalPath", internal && path !== ""],
    ["hostnameTooLong", hostname.length > MAX_HOSTNAME],
  ];
  return found.find(([, isFound]) => isFound)?.[0];
}
