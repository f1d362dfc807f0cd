// To which space a hostname belongs where it belongs to one: to that whose claim on an address of it is the oldest. Pure.
import type { Claim } from "../claim/claim.ts";
import { domainName, routeName } from "../claim/rules.ts";
import type { Domain } from "../domain/domain.ts";
import { isSharedDomain } from "../domain/resolve-domain.ts";

/** A hostname, as host and name of a domain. */
export interface RouteHost {
  host: string;
  domain: string;
}

/** The given one first; then the other way to come by the same hostname, since `shop.apps.example` may be a domain, too. */
export function listEquivalentHosts({ host, domain }: RouteHost): [RouteHost, ...RouteHost[]] {
  const given = { host, domain };
  if (host !== "") return [given, { host: "", domain: `${host}.${domain}` }];
  const [label = "", ...rest] = domain.split(".");
  return rest.length > 0 ? [given, { host: label, domain: rest.join(".") }] : [given];
}

/** What the claims on all addresses of a host are filed under. */
export function toHostKey({ host, domain }: RouteHost): string {
  const { scope, claimed } = routeName(
    { spec: { host, path: "", port: 0, domainRef: { name: "" }, destinations: [] } },
    domain,
  );
  return `${scope} ${claimed}`;
}

/** The host that a claim is on with some path. Ports have no hosts. */
export function findClaimedHost({ spec: { scope, claimed } }: Pick<Claim, "spec">): RouteHost | undefined {
  const [host] = /^[^:]*(?=:0(?:$|\/))/.exec(claimed) ?? [];
  return scope.startsWith("route/") && host !== undefined ? { host, domain: scope.slice("route/".length) } : undefined;
}

/** An index function: claims by `hostKey`. */
export function indexClaimByHost(claim: Pick<Claim, "spec">): string[] {
  const routeHost = findClaimedHost(claim);
  return routeHost ? [toHostKey(routeHost)] : [];
}

/**
 * Of the claims on a hostname, however it is split, the one that counts. The age of Routes says nothing: an old one may have meant another domain until now.
 * Nobody but the platform writes a claim, and it stays as it is while it is held, so all who see the same claims agree, and agree tomorrow.
 */
export function findOldestClaim(claims: readonly Claim[]): Claim | undefined {
  return claims.reduce<Claim | undefined>(
    (first, claim) => (first && !isOlderClaim(claim, first) ? first : claim),
    undefined,
  );
}

/** Of two taken in the same millisecond the one with the smaller name is first. */
export function isOlderClaim(one: Claim, other: Claim): boolean {
  return one.spec.since === other.spec.since
    ? one.metadata.name < other.metadata.name
    : one.spec.since < other.spec.since;
}

/**
 * Does `holder` keep the routes of a space off the hostname, with all of its paths? On a shared domain those of every other space; on a private one, whose
 * spaces may share a host, those of other spaces where the hostname was claimed as that of another domain.
 */
export function isHostTaken(holder: Claim | undefined, domain: Domain, namespace: string | undefined): boolean {
  if (!holder || holder.spec.claimant.namespace === namespace) return false;
  return isSharedDomain(domain) || holder.spec.scope !== `route/${domainName(domain).claimed}`;
}
