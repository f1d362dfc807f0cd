// Checks whether the domain and other spaces' hosts allow a route's address. The route's claim decides whether the exact address is taken.
import { Claim } from "../../../crds/claim/claim.ts";
import { isClaimant } from "../../../crds/claim/rules.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { isSharedDomain } from "../../../crds/domain/resolve-domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { findOldestClaim, toHostKey, listEquivalentHosts, isHostTaken } from "../../../crds/route/route-host.ts";
import { Route } from "../../../crds/route/route.ts";
import { foldHost, routeHostname } from "../../../crds/route/route-url.ts";
import { unprocessable } from "../../http/errors.ts";
import type { Session } from "../../access/session.ts";

export interface RouteAddress {
  host: string;
  path: string;
  port: number;
}

/** `namespace` is that of the space. @throws CFError 422 */
export function checkAddress(session: Session, domain: Domain, address: RouteAddress, namespace: string): void {
  const { host } = address;
  if (address.port !== 0) throw unprocessable("Routes with protocol 'http' do not support ports.");
  if (isSharedDomain(domain)) checkShared(session, host);
  checkHost(session, domain, host, namespace);
  if (domain.spec.internal) checkInternal(address);
  const hostname = routeHostname(address, domain.spec.name);
  if (hostname.length > 253) throw unprocessable("Host combined with domain name must be no more than 253 characters");
  if (host !== "" && session.cache.store(Domain).byIndex("name", hostname).length > 0)
    throw unprocessable(`Route conflicts with domain '${hostname}'.`);
}

function checkInternal({ host, path }: RouteAddress): void {
  if (host === "*") throw unprocessable("Wildcard hosts are not supported for internal domains.");
  if (path !== "") throw unprocessable("Paths are not supported for internal domains.");
}

/** Routes in a shared domain need a host, and only operators may use a wildcard. */
function checkShared(session: Session, host: string): void {
  if (host === "") throw unprocessable("Missing host. Routes in shared domains must have a host defined.");
  if (host === "*" && !session.allows({ verb: "update", on: Domain, namespace: SYSTEM_NAMESPACE }))
    throw unprocessable(
      "You do not have sufficient permissions to create a route with a wildcard host on a domain not scoped to an organization.",
    );
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
