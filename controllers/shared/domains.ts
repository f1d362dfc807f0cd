// Resolves a Route's Domain from its space and org, and checks whether that Domain is in force: whether it holds its own name.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, domainName, isClaimant, toClaimState, type ClaimState } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { findReservation, listParentNames, type ReservationLookup } from "../../crds/domain/reservations.ts";
import { findDomainByReference, type DomainReferrer } from "../../crds/domain/resolve-domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { CLAIM_HOST_INDEX } from "./host-claims.ts";
import type { Tenancy } from "./tenancy.ts";

const DOMAIN_OBJECT_NAME_INDEX = "controllers/domain-object-name";
/** Index of Domains by the names above theirs. */
export const DOMAIN_PARENT_INDEX = "controllers/domain-parent";
/** Index of Domains by the claim on their name. */
export const DOMAIN_NAME_INDEX = "controllers/domain-name";
/** Index of Routes by the object name of their domain, kept by the route controller. */
export const ROUTE_DOMAIN_INDEX = "controllers/domain";
/** Indexes on Domains, kept by the domain controller. */
export const DOMAIN_INDEXES = {
  [DOMAIN_OBJECT_NAME_INDEX]: (domain: Domain): string[] => [domain.metadata.name],
  [DOMAIN_NAME_INDEX]: (domain: Domain): string[] => [domainName(domain).claimed],
  [DOMAIN_PARENT_INDEX]: ({ spec }: Domain): string[] => listParentNames(spec.name),
};

/** As the claim on its name says; `reserved` when there is none, since another domain or a route keeps the domain from it. */
export type DomainState = ClaimState | "reserved";

/** The Domain that a route names, unless it is not in force. @throws NotPermitted when it may be one that the platform cannot read */
export function findEffectiveDomain(read: Reader, route: DomainReferrer, tenancy: Tenancy): Domain | undefined {
  const domain = findReferencedDomain(read, route, tenancy);
  return domain && !isOutOfForce(read, domain) ? domain : undefined;
}

/** Like findEffectiveDomain, but includes Domains that are not in force. The informers need `DOMAIN_INDEXES`. */
export function findReferencedDomain(read: Reader, route: DomainReferrer, tenancy: Tenancy): Domain | undefined {
  const found = findDomainByReference(route, {
    orgObjectName: tenancy.orgObjectName,
    orgNamespace: tenancy.orgNamespace,
    find: (key) => read.find(Domain, key),
    listByName: (name) => read.byIndex(Domain, DOMAIN_OBJECT_NAME_INDEX, name),
    isNameTaken: (domain) => isOutOfForce(read, domain),
  });
  // Throws unless all namespaces are readable: otherwise the Domain may exist unseen.
  if (!found) read.list(Domain);
  return found;
}

function isOutOfForce(read: Reader, domain: Domain): boolean {
  const state = findDomainState(read, domain);
  return state === "taken" || state === "reserved";
}

/** Whether a Domain holds its name; only then does it serve Routes. */
export function findDomainState(read: Reader, domain: Domain): DomainState {
  const state = toClaimState(findNameClaim(read, domain), Domain.kind, domain);
  return state === "unclaimed" && findReservation(domain, undefined, reservationLookup(read)) ? "reserved" : state;
}

/** The claim that the Domain holds on its name. */
export function findOwnClaim(read: Reader, domain: Domain): Claim | undefined {
  const claim = findNameClaim(read, domain);
  return claim && isClaimant(claim, Domain.kind, domain) ? claim : undefined;
}

function findNameClaim(read: Reader, domain: Domain): Claim | undefined {
  return read.find(Claim, { namespace: SYSTEM_NAMESPACE, name: claimObjectName(domainName(domain)) });
}

/** Finds what reserves the names of domains and routes, in the cache. */
export function reservationLookup(read: Reader): ReservationLookup {
  return {
    listByName: (name) => read.byIndex(Domain, DOMAIN_NAME_INDEX, name),
    listBelow: (name) => read.byIndex(Domain, DOMAIN_PARENT_INDEX, name),
    findClaim: (domain) => findOwnClaim(read, domain),
    listHostClaims: (key) => read.byIndex(Claim, CLAIM_HOST_INDEX, key),
  };
}
