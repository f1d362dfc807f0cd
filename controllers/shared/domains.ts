// Resolves a Route's Domain from its space and org, and checks whether that Domain holds its own name.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, domainName, toClaimState, type ClaimState } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { findDomainByReference, type DomainReferrer } from "../../crds/domain/resolve-domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { Tenancy } from "./tenancy.ts";

const DOMAIN_OBJECT_NAME_INDEX = "controllers/domain-object-name";
/** Index of Domains by the claim on their name. */
export const DOMAIN_NAME_INDEX = "controllers/domain-name";
/** Indexes on Domains, kept by the domain controller. */
export const DOMAIN_INDEXES = {
  [DOMAIN_OBJECT_NAME_INDEX]: (domain: Domain): string[] => [domain.metadata.name],
  [DOMAIN_NAME_INDEX]: (domain: Domain): string[] => [domainName(domain).claimed],
};

/** The Domain that a route names, unless another Domain holds its name. @throws NotPermitted when it may be one that the platform cannot read */
export function findEffectiveDomain(read: Reader, route: DomainReferrer, tenancy: Tenancy): Domain | undefined {
  const domain = findReferencedDomain(read, route, tenancy);
  return domain && findDomainClaimState(read, domain) !== "taken" ? domain : undefined;
}

/** Like findEffectiveDomain, but includes Domains that lost their name. The informers need `DOMAIN_INDEXES`. */
export function findReferencedDomain(read: Reader, route: DomainReferrer, tenancy: Tenancy): Domain | undefined {
  const found = findDomainByReference(route, {
    orgObjectName: tenancy.orgObjectName,
    orgNamespace: tenancy.orgNamespace,
    find: (key) => read.find(Domain, key),
    listByName: (name) => read.byIndex(Domain, DOMAIN_OBJECT_NAME_INDEX, name),
    isNameTaken: (domain) => findDomainClaimState(read, domain) === "taken",
  });
  // Throws unless all namespaces are readable: otherwise the Domain may exist unseen.
  if (!found) read.list(Domain);
  return found;
}

/** Whether a Domain holds its name; only then does it serve Routes. */
export function findDomainClaimState(read: Reader, domain: Domain): ClaimState {
  return toClaimState(
    read.find(Claim, { namespace: SYSTEM_NAMESPACE, name: claimObjectName(domainName(domain)) }),
    Domain.kind,
    domain,
  );
}
