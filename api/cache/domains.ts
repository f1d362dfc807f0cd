// Resolves the Domain of a route, and tells which domains an org may use. The rule is in crds/domain/resolve-domain.ts.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, domainName, isClaimant, toClaimState } from "../../crds/claim/rules.ts";
import type { ReservationLookup } from "../../crds/domain/reservations.ts";
import { isSharedDomain, findDomainByReference, type DomainReferrer } from "../../crds/domain/resolve-domain.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Org } from "../../crds/org/org.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ClusterCache } from "./cluster-cache.ts";

/** The org that owns a private domain; undefined for a shared one. */
export function owningOrg(cache: ClusterCache, domain: Domain): Org | undefined {
  return isSharedDomain(domain) ? undefined : cache.orgOf(domain.metadata.namespace);
}

/** The Domain of an existing or new route; undefined when the reference dangles, or another Domain holds the claim on its name. */
export function domainOf(
  cache: ClusterCache,
  route: DomainReferrer & Pick<KubeObject, "metadata">,
): Domain | undefined {
  const orgNamespace = cache.spaceOf(route.metadata.namespace)?.metadata.namespace ?? "";
  const named = cache.store(Domain).byIndex("objectName", route.spec.domainRef.name);
  const domain = findDomainByReference(route, {
    orgObjectName: cache.orgOf(orgNamespace)?.metadata.name ?? "",
    orgNamespace,
    find: ({ namespace }) => named.find(({ metadata }) => metadata.namespace === namespace),
    listByName: () => named,
    isNameTaken: (candidate) => isNameClaimedByAnother(cache, candidate),
  });
  return domain && isNameClaimedByAnother(cache, domain) ? undefined : domain;
}

/** Claim names by Domain, cached because a list needs one per route and each costs a digest. */
const claimNames = new WeakMap<Domain, string>();

function findNameClaim(cache: ClusterCache, domain: Domain): Claim | undefined {
  const name = claimNames.get(domain) ?? claimObjectName(domainName(domain));
  claimNames.set(domain, name);
  return cache.store(Claim).find({ namespace: SYSTEM_NAMESPACE, name });
}

function isNameClaimedByAnother(cache: ClusterCache, domain: Domain): boolean {
  return toClaimState(findNameClaim(cache, domain), Domain.kind, domain) === "taken";
}

/** Finds what reserves the names of domains and routes, in the cache. */
export function reservationLookup(cache: ClusterCache): ReservationLookup {
  return {
    listByName: (name) => cache.store(Domain).byIndex("name", name),
    listBelow: (name) => cache.store(Domain).byIndex("parent", name),
    findClaim: (domain) => {
      const claim = findNameClaim(cache, domain);
      return claim && isClaimant(claim, Domain.kind, domain) ? claim : undefined;
    },
    listHostClaims: (key) => cache.store(Claim).byIndex("host", key),
  };
}

/** Whether an org may create routes in a domain. */
export function isUsableBy(domain: Domain, org: Org): boolean {
  return (
    isSharedDomain(domain) ||
    domain.metadata.namespace === org.status?.namespace ||
    domain.spec.sharedOrgs.includes(org.metadata.name)
  );
}
