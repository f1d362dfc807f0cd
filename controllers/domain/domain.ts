// Holds a Domain's name on the platform, unless another org's domain above or below it, or a route of that hostname, was there before.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, domainName } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { findReservation, listParentNames, type Reservation } from "../../crds/domain/reservations.ts";
import { QUOTA_EXCEEDED } from "../../crds/org-quota/counts.ts";
import { isSharedDomain } from "../../crds/domain/resolve-domain.ts";
import { findClaimedHost } from "../../crds/route/host-owner.ts";
import { defineController, watch, type MapResult, type ReconcileResult } from "../../kube/controller/controller.ts";
import { indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { CLAIMED_NAME_INDEX, ensureClaim } from "../shared/claims.ts";
import {
  DOMAIN_INDEXES,
  DOMAIN_NAME_INDEX,
  DOMAIN_PARENT_INDEX,
  findOwnClaim,
  reservationLookup,
} from "../shared/domains.ts";
import { findFullQuota, quotaWatches, WAITING_INDEXES, type CountedKind } from "../shared/counted-quotas.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import { releaseContestedClaim } from "../shared/host-claims.ts";

const PRIVATE_DOMAINS: CountedKind<Domain> = {
  ref: Domain,
  limit: "totalDomains",
  noun: "private domains",
  reason: QUOTA_EXCEEDED,
  counts: (domain) => !isSharedDomain(domain),
  isInForce: (domain, read) => findOwnClaim(read, domain) !== undefined,
};

export const domainController = defineController({
  name: "domain",
  for: Domain,
  indexes: {
    ...DOMAIN_INDEXES,
    ...WAITING_INDEXES,
    [GUID_INDEX]: indexByGUID,
    [CLAIMED_NAME_INDEX]: (domain: Domain) => [claimObjectName(domainName(domain))],
  },
  reads: TENANCY_KINDS,
  watches: [watch(Claim, mapClaimToDomains), ...quotaWatches(Domain)],
  async reconcile(domain, context) {
    const { labels } = resolveGUID(Domain, domain, context);
    const name = domainName(domain);
    const reservation = findReservation(domain, findOwnClaim(context.read, domain), reservationLookup(context.read));
    if (reservation) {
      await releaseContestedClaim({ ref: Domain, object: domain, name }, reservation.claim, context);
      return { labels, ...planReserved(domain, reservation) };
    }
    const full = findFullQuota(domain, PRIVATE_DOMAINS, context.read);
    if (full) return { labels, ready: full };
    await ensureClaim(Domain.kind, domain, name, context);
    return { labels };
  },
});

/** A claim on a domain's name concerns the Domain, and those above and below it; one on a route's address the Domain of that hostname. */
function mapClaimToDomains(claim: Claim): MapResult {
  const { claimant, claimed } = claim.spec;
  if (claimant.kind === Domain.kind)
    return {
      [CLAIMED_NAME_INDEX]: claim.metadata.name,
      [DOMAIN_PARENT_INDEX]: claimed,
      [DOMAIN_NAME_INDEX]: listParentNames(claimed),
    };
  const routeHost = findClaimedHost(claim);
  return routeHost?.host ? { [DOMAIN_NAME_INDEX]: `${routeHost.host}.${routeHost.domain}` } : [];
}

function planReserved({ spec: { name } }: Domain, { by, name: other }: Reservation): ReconcileResult {
  const message =
    by === "route"
      ? `a route has the address ${other}; choose another name, or have the route deleted`
      : `${name} overlaps with the domain ${other} of others, which is older; choose another name`;
  return { ready: { status: "False", reason: "NameReserved", message, isFailure: true } };
}
