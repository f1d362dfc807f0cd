// Decides which space owns a hostname: the space with the oldest claim on any of its addresses. Pure.
import type { Claim } from "../claim/claim.ts";
import { domainName, routeName } from "../claim/rules.ts";
import type { Domain } from "../domain/domain.ts";
import { isSharedDomain } from "../domain/resolve-domain.ts";

/** A hostname, split into host and domain name. */
export interface RouteHost {
  host: string;
  domain: string;
}

/** The given split first, then the other split of the same hostname, since `shop.apps.example` may itself be a domain. */
export function listEquivalentHosts({ host, domain }: RouteHost): [RouteHost, ...RouteHost[]] {
  const given = { host, domain };
  if (host !== "") return [given, { host: "", domain: `${host}.${domain}` }];
  const [label = "", ...rest] = domain.split(".");
  return rest.length > 0 ? [given, { host: label, domain: rest.join(".") }] : [given];
}

/** Index key of the claims on all addresses of a host. */
export function toHostKey({ host, domain }: RouteHost): string {
  const { scope, claimed } = routeName(
    { spec: { host, path: "", port: 0, domainRef: { name: "" }, destinations: [] } },
    domain,
  );
  return `${scope} ${claimed}`;
}

/** The host of a claimed route, with any path; undefined for other claims and TCP routes. */
export function findClaimedHost({ spec: { scope, claimed } }: Pick<Claim, "spec">): RouteHost | undefined {
  const [host] = /^[^:]*(?=:0(?:$|\/))/.exec(claimed) ?? [];
  return scope.startsWith("route/") && host !== undefined ? { host, domain: scope.slice("route/".length) } : undefined;
}

/** Index function: claims by `toHostKey`. */
export function indexClaimByHost(claim: Pick<Claim, "spec">): string[] {
  const routeHost = findClaimedHost(claim);
  return routeHost ? [toHostKey(routeHost)] : [];
}

/**
 * The claim that decides who owns a hostname, from the claims on all splits of it. The age of Routes cannot decide: an old Route may have used another
 * domain until now. Only the platform writes claims and a held claim never changes, so every reader of the same claims decides alike.
 */
export function findOldestClaim(claims: readonly Claim[]): Claim | undefined {
  return claims.reduce<Claim | undefined>(
    (first, claim) => (first && !isOlderClaim(claim, first) ? first : claim),
    undefined,
  );
}

/** For two claims of the same millisecond, the smaller name is older. */
export function isOlderClaim(one: Claim, other: Claim): boolean {
  return one.spec.since === other.spec.since
    ? one.metadata.name < other.metadata.name
    : one.spec.since < other.spec.since;
}

/**
 * Does `holder` block the hostname, with all its paths, for the routes of a space? On a shared domain it blocks every other space. The spaces of a private
 * domain may share a host, so there it blocks other spaces only where the hostname was claimed in another domain.
 */
export function isHostTaken(holder: Claim | undefined, domain: Domain, namespace: string | undefined): boolean {
  if (!holder || holder.spec.claimant.namespace === namespace) return false;
  return isSharedDomain(domain) || holder.spec.scope !== `route/${domainName(domain).claimed}`;
}
