// The claims on a hostname, whatever their paths: whose it is, where it belongs to one space.
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, isClaimant, type ClaimedName } from "../../crds/claim/rules.ts";
import type { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { isShared } from "../../crds/domain/resolve-domain.ts";
import { hostHolder, hostKey, hostSplits, type Split } from "../../crds/route/route-host.ts";
import { Route } from "../../crds/route/route.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { releaseClaim } from "./release-claim.ts";

/** Name of the index of Claims by host, which the claim controller keeps. */
export const HOST_CLAIMS_INDEX = "claim/host";

export function claimsOnHost(read: Reader, split: Split): Claim[] {
  return read.byIndex(Claim, HOST_CLAIMS_INDEX, hostKey(split));
}

/** The claim that has the hostname; on a private domain undefined while nobody claims it as that of another domain. */
export function findHostHolder(read: Reader, host: string, domain: Domain): Claim | undefined {
  const [own, ...others] = hostSplits({ host, domain: domain.spec.name });
  const elsewhere = others.flatMap((split) => claimsOnHost(read, split));
  return isShared(domain) || elsewhere.length > 0 ? hostHolder([...claimsOnHost(read, own), ...elsewhere]) : undefined;
}

/** Two spaces may have claimed a host at the same time. The one that has it not gives its addresses there back, lest each keep something from the other. */
export async function giveWay(route: Route, name: ClaimedName, holder: Claim, context: ReconcileContext): Promise<void> {
  const own = context.read.find(Claim, { namespace: SYSTEM_NAMESPACE, name: claimObjectName(name) });
  if (!own || !isClaimant(own, Route.kind, route)) return;
  // The cache may lag behind: what ends a claim is a live read.
  const live = await context.client.find(Claim, holder.metadata);
  if (live && live.metadata.uid === holder.metadata.uid && live.spec.since === holder.spec.since) await releaseClaim(own, context);
}
