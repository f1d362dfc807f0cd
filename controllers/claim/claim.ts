// Deletes a claim when its object does not exist or has another name. Claims have no other effect.
import { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { CLAIM_GRACE_MS } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { Org } from "../../crds/org/org.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { indexClaimByHost } from "../../crds/route/host-owner.ts";
import { Route } from "../../crds/route/route.ts";
import { SecurityGroup } from "../../crds/security-group/security-group.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { Space } from "../../crds/space/space.ts";
import { defineController, watch, type Controller, type ReconcileContext } from "../../kube/controller/controller.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { findClaimantName, type FindObject } from "../shared/claimant-name.ts";
import { CLAIM_HOST_INDEX } from "../shared/host-claims.ts";
import { TENANCY_KINDS } from "../shared/tenancy.ts";
import { releaseClaim } from "../shared/release-claim.ts";

const CLAIMANT_INDEX = "controllers/claimant";
const CLAIMANT_KINDS: readonly ResourceRef[] = [
  Org,
  Space,
  App,
  Domain,
  Route,
  OrgQuota,
  SpaceQuota,
  SecurityGroup,
  IsolationSegment,
  ServiceBroker,
  ServiceInstance,
];

function claimantKey(kind: string, at: ObjectKey): string {
  return `${kind} ${keyOf(at)}`;
}

/** Bound of the verified claims in memory. A forgotten claim is only deleted later, at the end of its grace. */
const MAX_VERIFIED_CLAIMS = 100_000;

export function claimController(): Controller {
  // Claims whose object has existed with the name. They need no grace, which covers only the time before the object's creation.
  const verifiedClaims = new Set<string>();

  return defineController({
    name: "claim",
    for: Claim,
    // Claims have no status, so that each costs only one write.
    writesStatus: false,
    reads: TENANCY_KINDS,
    indexes: {
      [CLAIMANT_INDEX]: (claim: Claim) => [claimantKey(claim.spec.claimant.kind, claim.spec.claimant)],
      [CLAIM_HOST_INDEX]: indexClaimByHost,
    },
    watches: CLAIMANT_KINDS.map((ref) =>
      watch(ref, (object: KubeObject) => ({ [CLAIMANT_INDEX]: claimantKey(ref.kind, object.metadata) })),
    ),

    async reconcile(claim, context) {
      const claimVersion = `${claim.metadata.uid} ${claim.spec.since}`;
      if (await isNameInUse(claim, (ref, at) => Promise.resolve(context.read.find(ref, at)), context)) {
        if (verifiedClaims.size >= MAX_VERIFIED_CLAIMS) verifiedClaims.clear();
        verifiedClaims.add(claimVersion);
        return {};
      }
      const remainingMs = Date.parse(claim.spec.since) + CLAIM_GRACE_MS - context.now().getTime();
      if (remainingMs > 0 && !verifiedClaims.has(claimVersion)) return { requeueAfterMs: remainingMs + 100 };
      // The cache may lag, so only a live read ends a claim.
      if (!(await isNameInUse(claim, (ref, at) => context.client.find(ref, at), context)))
        await releaseClaim(claim, context);
      verifiedClaims.delete(claimVersion);
      return {};
    },
  });
}

async function isNameInUse(claim: Claim, find: FindObject, { read }: ReconcileContext): Promise<boolean> {
  const currentName = await findClaimantName(claim.spec.claimant, { find, read });
  return (
    currentName !== undefined && currentName.scope === claim.spec.scope && currentName.claimed === claim.spec.claimed
  );
}
