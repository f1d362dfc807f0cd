// The claims on a hostname, with any path: which space owns it.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, isClaimant, type ClaimedName } from "../../crds/claim/rules.ts";
import type { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { isSharedDomain } from "../../crds/domain/resolve-domain.ts";
import { findOldestClaim, toHostKey, listEquivalentHosts, type RouteHost } from "../../crds/route/host-owner.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { releaseClaim } from "./release-claim.ts";

/** Name of the index of Claims by host, which the claim controller defines. */
export const CLAIM_HOST_INDEX = "controllers/claim-host";

export function listHostClaims(read: Reader, routeHost: RouteHost): Claim[] {
  return read.byIndex(Claim, CLAIM_HOST_INDEX, toHostKey(routeHost));
}

/** The claim that owns the hostname; on a private domain undefined unless it is claimed in another domain. */
export function findHostClaim(read: Reader, host: string, domain: Domain): Claim | undefined {
  const [own, ...others] = listEquivalentHosts({ host, domain: domain.spec.name });
  const equivalentClaims = others.flatMap((split) => listHostClaims(read, split));
  return isSharedDomain(domain) || equivalentClaims.length > 0
    ? findOldestClaim([...listHostClaims(read, own), ...equivalentClaims])
    : undefined;
}

/**
 * Two objects may claim names at the same time of which only one may be held: addresses of a host by two spaces, a domain and another below it. The one that
 * came later releases its claim, so the two do not block each other. `holder` is the other's claim; without one, the object may not have the name at all.
 */
export async function releaseContestedClaim(
  { ref, object, name }: { ref: ResourceRef; object: KubeObject; name: ClaimedName },
  holder: Claim | undefined,
  context: ReconcileContext,
): Promise<void> {
  const own = context.read.find(Claim, { namespace: SYSTEM_NAMESPACE, name: claimObjectName(name) });
  if (!own || !isClaimant(own, ref.kind, object)) return;
  if (!holder) return releaseClaim(own, context);
  // The cache may lag, so only a live read ends a claim.
  const live = await context.client.find(Claim, holder.metadata);
  if (live && live.metadata.uid === holder.metadata.uid && live.spec.since === holder.spec.since)
    await releaseClaim(own, context);
}
