// Checks whether the domain and other spaces' hosts allow a route's address. The route's claim decides whether the exact address is taken.
import { Claim } from "../../../crds/claim/claim.ts";
import { isClaimant } from "../../../crds/claim/rules.ts";
import type { Domain } from "../../../crds/domain/domain.ts";
import { findNamesake } from "../../../crds/domain/reservations.ts";
import { isSharedDomain } from "../../../crds/domain/resolve-domain.ts";
import { findAddressProblem, type AddressProblem } from "../../../crds/route/address-rules.ts";
import { findOldestClaim, toHostKey, listEquivalentHosts, isHostTaken } from "../../../crds/route/host-owner.ts";
import { Route } from "../../../crds/route/route.ts";
import { foldHost, routeHostname } from "../../../crds/route/route-url.ts";
import { unprocessable } from "../../http/errors.ts";
import type { Session } from "../../access/session.ts";
import { reservationLookup } from "../../cache/domains.ts";
import { findDomainGroup, portUnavailable } from "./router-groups.ts";

export interface RouteAddress {
  host: string;
  path: string;
  port: number;
}

const PROBLEMS: Record<Exclude<AddressProblem, "portNotOffered">, string> = {
  portOfHttp: "Routes with protocol 'http' do not support ports.",
  hostOfTcp: "Routes with protocol 'tcp' do not support paths or hosts.",
  portMissing: "Routes with protocol 'tcp' must have a port.",
  apiHost: "This is the address of the Cloud Foundry API. Choose another host.",
  hostMissing: "Missing host. Routes in shared domains must have a host defined.",
  sharedWildcard:
    "You do not have sufficient permissions to create a route with a wildcard host on a domain not scoped to an organization.",
  internalWildcard: "Wildcard hosts are not supported for internal domains.",
  internalPath: "Paths are not supported for internal domains.",
  hostnameTooLong: "Host combined with domain name must be no more than 253 characters",
};

/** `namespace` is that of the space. @throws CFError 422 */
export function checkAddress(session: Session, domain: Domain, address: RouteAddress, namespace: string): void {
  const { host } = address;
  const mayTakeAll = host === "*" && session.allows({ verb: "update", on: Route, subresource: "wildcard", namespace });
  const group = findDomainGroup(session, domain);
  const problem = findAddressProblem(address, domain, { mayTakeAll, apiHosts: session.apiHosts, group });
  if (problem === "portNotOffered") throw portUnavailable(address.port);
  if (problem) throw unprocessable(PROBLEMS[problem]);
  if (address.port !== 0) return;
  checkHost(session, domain, host, namespace);
  if (findNamesake({ host: foldHost(host), domain: domain.spec.name }, reservationLookup(session.cache)))
    throw unprocessable(`Route conflicts with domain '${routeHostname(address, domain.spec.name)}'.`);
}

/** A route may go to another space only alone: on a shared domain one space owns a host with all its paths. @throws CFError 422 */
export function checkHostOfMove({ cache }: Session, route: Route, domain: Domain): void {
  if (!isSharedDomain(domain)) return;
  const claims = listEquivalentHosts({ host: foldHost(route.spec.host), domain: domain.spec.name }).flatMap((split) =>
    cache.store(Claim).byIndex("host", toHostKey(split)),
  );
  if (claims.some((claim) => !isClaimant(claim, Route.kind, route)))
    throw unprocessable(
      `Route already exists with host '${route.spec.host}' for domain '${domain.spec.name}' in another space.`,
    );
}

/** A host of a shared domain, with all its paths, belongs to the space with the oldest claim; later routes made with kubectl do not count. @throws CFError 422 */
export function checkHost({ cache }: Session, domain: Domain, host: string, namespace: string): void {
  const claims = listEquivalentHosts({ host, domain: domain.spec.name }).flatMap((split) =>
    cache.store(Claim).byIndex("host", toHostKey(split)),
  );
  if (isHostTaken(findOldestClaim(claims), domain, namespace))
    throw unprocessable(`Route already exists with host '${host}' for domain '${domain.spec.name}' in another space.`);
}
