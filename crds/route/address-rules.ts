// CF's rules for what one route's address may be, whatever other routes there are. Pure; the API and the route controller share it.
import type { Domain } from "../domain/domain.ts";
import { isSharedDomain } from "../domain/resolve-domain.ts";
import type { Route } from "./route.ts";
import { routeHostname } from "./route-url.ts";

export type AddressProblem = "hostMissing" | "sharedWildcard" | "internalWildcard" | "internalPath" | "hostnameTooLong";

/** DNS allows no longer name. */
const MAX_HOSTNAME = 253;

/** The first problem of an address. `mayTakeAll`: whoever wants it may have all free hosts of a shared domain. Routes with a port have none of these. */
export function findAddressProblem(
  { host, path, port }: Pick<Route["spec"], "host" | "path" | "port">,
  domain: Domain,
  mayTakeAll: boolean,
): AddressProblem | undefined {
  if (port !== 0) return undefined;
  const { name, internal } = domain.spec;
  const found: [AddressProblem, boolean][] = [
    ["hostMissing", isSharedDomain(domain) && host === ""],
    ["sharedWildcard", isSharedDomain(domain) && host === "*" && !mayTakeAll],
    ["internalWildcard", internal && host === "*"],
    ["internalPath", internal && path !== ""],
    ["hostnameTooLong", routeHostname({ host }, name).length > MAX_HOSTNAME],
  ];
  return found.find(([, isFound]) => isFound)?.[0];
}
