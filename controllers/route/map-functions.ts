// Map functions of Routes. A change in one space or org enqueues as few Routes of others as possible.
import type { Claim } from "../../crds/claim/claim.ts";
import { PORT_SCOPE, routeName } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { isTCPDomain } from "../../crds/domain/protocols.ts";
import { isSharedDomain } from "../../crds/domain/resolve-domain.ts";
import {
  findOldestClaim,
  listEquivalentHosts,
  isOlderClaim,
  type RouteHost,
  findClaimedHost,
} from "../../crds/route/host-owner.ts";
import { Route } from "../../crds/route/route.ts";
import { foldHost } from "../../crds/route/route-url.ts";
import type { MapResult } from "../../kube/controller/controller.ts";
import type { ObjectKey } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { ifSynced } from "../../kube/cache/errors.ts";
import { listHostClaims } from "../shared/host-claims.ts";
import { CLAIMED_NAME_INDEX } from "../shared/claims.ts";
import { DOMAIN_NAME_INDEX, ROUTE_DOMAIN_INDEX } from "../shared/domains.ts";
import { findTenancy } from "../shared/tenancy.ts";

/** Name of the index of Routes by `toHostIndexKey`. */
export const HOST_INDEX = "controllers/host";

/** Host and object name of the domain. An index function cannot read the Domain that the name resolves to. */
export function toHostIndexKey({ host, domainRef }: Pick<Route["spec"], "host" | "domainRef">): string {
  return `${foldHost(host)} ${domainRef.name}`;
}

/** Like `toHostIndexKey`, for the whole address. */
export function toAddressIndexKey(route: Route): string {
  return `${routeName(route, "").claimed} ${route.spec.domainRef.name}`;
}

/** A claim on an address enqueues the Routes that want it; one on a domain's name, the Routes in the domain and those of that hostname. */
export function mapClaimToRoutes(claim: Claim, read: Reader): MapResult {
  const { scope, claimed, claimant } = claim.spec;
  if (claimant.kind === Route.kind)
    return {
      [CLAIMED_NAME_INDEX]: listDomainsOfScope(scope, read).map(({ metadata }) => `${claimed} ${metadata.name}`),
    };
  if (claimant.kind !== Domain.kind) return [];
  const domain = read.find(Domain, claimant);
  const namesakes = listNamesakes(claimed, read).map(toRouteKey);
  // A missing Domain enqueues its Routes itself when it appears, and did so when it was deleted.
  return domain ? [...listRoutesOfDomain(domain, read), ...namesakes] : namesakes;
}

/** The domain of the name, or the TCP domains of the router, whose routes claim in this scope. */
function listDomainsOfScope(scope: string, read: Reader): Domain[] {
  if (!scope.startsWith(PORT_SCOPE)) return listDomainsByName({ domain: scope.slice("route/".length) }, read);
  const router = scope.slice(PORT_SCOPE.length);
  return read.list(Domain, { partial: true }).filter((domain) => isTCPDomain(domain) && domain.spec.router === router);
}

/** Routes whose hostname is this domain name, by a domain above it. */
function listNamesakes(name: string, read: Reader): Route[] {
  const [host = "", ...rest] = name.split(".");
  return rest.length > 0 ? listRoutesOfHost({ host, domain: rest.join(".") }, read) : [];
}

function listRoutesOfDomain(domain: Domain, read: Reader): readonly ObjectKey[] {
  const mapped = mapDomainToRoutes(domain, read);
  return Array.isArray(mapped)
    ? (mapped as ObjectKey[])
    : read.byIndex(Route, ROUTE_DOMAIN_INDEX, domain.metadata.name).map(toRouteKey);
}

/** Routes that may resolve to the Domain: all for a shared one, else those of its org and of the orgs that it is shared with. */
export function mapDomainToRoutes(domain: Domain, read: Reader): MapResult {
  const { metadata, spec } = domain;
  if (isSharedDomain(domain)) return { [ROUTE_DOMAIN_INDEX]: metadata.name };
  const orgs = new Set(spec.sharedOrgs);
  const decisions = new Map<string, boolean>();
  const isAffected = (namespace: string): boolean => {
    const tenancy = findTenancy(read, namespace);
    return !tenancy || tenancy.orgNamespace === metadata.namespace || orgs.has(tenancy.orgObjectName);
  };
  const affected = read.byIndex(Route, ROUTE_DOMAIN_INDEX, metadata.name).filter(({ metadata: { namespace = "" } }) => {
    const decision = decisions.get(namespace) ?? isAffected(namespace);
    decisions.set(namespace, decision);
    return decision;
  });
  return affected.map(toRouteKey);
}

/** A claim on a hostname enqueues the Routes of that hostname with any path; none while the owning space does not change. */
export function mapHostClaimToRoutes(claim: Claim, read: Reader): ObjectKey[] {
  const routeHost = findClaimedHost(claim);
  if (!routeHost) return [];
  const [own, ...others] = listEquivalentHosts(routeHost);
  const equivalentClaims = others.flatMap((other) => listHostClaims(read, other));
  // On a private domain spaces share a host, unless an equal hostname is claimed in another domain.
  const isHostExclusive = equivalentClaims.length > 0 || listDomainsByName(own, read).some(isSharedDomain);
  const candidates = (isHostExclusive ? [own, ...others] : others).flatMap((one) => listRoutesOfHost(one, read));
  if (candidates.length === 0) return [];
  const claims = [...listHostClaims(read, own), ...equivalentClaims];
  const holder = findOldestClaim(claims);
  // The claim is newer than the holder's, so it never owned the host.
  if (holder && isOlderClaim(holder, claim)) return [];
  const { namespace } = claim.spec.claimant;
  const isDisputed = claims.some(({ spec }) => spec.claimant.namespace !== namespace);
  if (!isDisputed && claims.some(({ metadata }) => metadata.name !== claim.metadata.name)) return [];
  return candidates.filter(({ metadata }) => isDisputed || metadata.namespace !== namespace).map(toRouteKey);
}

function listRoutesOfHost(routeHost: RouteHost, read: Reader): Route[] {
  return listDomainsByName(routeHost, read).flatMap(({ metadata }) =>
    read.byIndex(Route, HOST_INDEX, toHostIndexKey({ host: routeHost.host, domainRef: metadata })),
  );
}

function toRouteKey({ metadata: { namespace, name } }: Route): ObjectKey {
  return { ...(namespace && { namespace }), name };
}

/** Usually one; several when Domains compete for the name. Leaves out Domains that are not listed yet; they enqueue their Routes later. */
function listDomainsByName({ domain }: Pick<RouteHost, "domain">, read: Reader): Domain[] {
  return ifSynced(() => read.byIndex(Domain, DOMAIN_NAME_INDEX, domain)) ?? [];
}
