// CF's rules for what one route's address may be, whatever other routes there are. Pure; the API and the route controller share it.
import { hasPort, type RouterGroup } from "../backend-class/router-group.ts";
import type { Domain } from "../domain/domain.ts";
import { isTCPDomain } from "../domain/protocols.ts";
import { isSharedDomain } from "../domain/resolve-domain.ts";
import type { Route } from "./route.ts";
import { routeHostname } from "./route-url.ts";

export type AddressProblem =
  | "portOfHttp"
  | "hostOfTcp"
  | "portMissing"
  | "portNotOffered"
  | "apiHost"
  | "hostMissing"
  | "sharedWildcard"
  | "internalWildcard"
  | "internalPath"
  | "hostnameTooLong";

/** DNS allows no longer name. */
const MAX_HOSTNAME = 253;

export interface AddressLimits {
  /** Whether the caller may have all free hosts of a shared domain. */
  mayTakeAll: boolean;
  /** The hostnames of the CF API: a route there would get the tokens of everybody who calls it. */
  apiHosts: readonly string[];
  /** Ports that the router of a TCP domain offers; undefined where it offers none. */
  group?: Pick<RouterGroup, "ranges"> | undefined;
}

type Address = Pick<Route["spec"], "host" | "path" | "port">;

/** The first problem of an address. */
export function findAddressProblem(
  { host, path, port }: Address,
  domain: Domain,
  { mayTakeAll, apiHosts, group }: AddressLimits,
): AddressProblem | undefined {
  if (isTCPDomain(domain)) return findPortProblem({ host, path, port }, group);
  if (port !== 0) return "portOfHttp";
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

function findPortProblem({ host, path, port }: Address, group: AddressLimits["group"]): AddressProblem | undefined {
  if (host !== "" || path !== "") return "hostOfTcp";
  if (port === 0) return "portMissing";
  return group && hasPort(group, port) ? undefined : "portNotOffered";
}
