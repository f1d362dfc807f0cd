// Removes claims whose object is gone or bears another name. A claim itself never changes anything else.
import { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { CLAIM_GRACE_MS } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Org } from "../../crds/org/org.ts";
import { claimedHosts } from "../../crds/route/route-host.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { defineController, watch, type Controller, type ReconcileContext } from "../../kube/controller/controller.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { borneName, type Find } from "../shared/claimant-name.ts";
import { HOST_CLAIMS_INDEX } from "../shared/host-claims.ts";
import { PLACE_READS } from "../shared/tenancy.ts";
import { releaseClaim } from "../shared/release-claim.ts";

const CLAIMANT_INDEX = "claimant";
const CLAIMANTS: readonly ResourceRef[] = [Org, Space, App, Domain, Route];

function claimantKey(kind: string, at: ObjectKey): string {
  return `${kind} ${keyOf(at)}`;
}

/** How many claims are remembered as seen. Forgetting one only lets it lie for the rest of its grace. */
const MAX_SEEN = 100_000;

export function claimController(): Controller {
  // Claims whose object was there and bore the name: once it is gone, the grace (for the time before creation) has no more use.
  const seen = new Set<string>();

  return defineController({
    name: "claim",
    for: Claim,
    // A claim is one write; it gets no status.
    writesStatus: false,
    reads: PLACE_READS,
    indexes: { [CLAIMANT_INDEX]: (claim: Claim) => [claimantKey(claim.spec.claimant.kind, claim.spec.claimant)], [HOST_CLAIMS_INDEX]: claimedHosts },
    watches: CLAIMANTS.map((ref) => watch(ref, (object: KubeObject) => ({ [CLAIMANT_INDEX]: claimantKey(ref.kind, object.metadata) }))),

    async reconcile(claim, context) {
      const key = `${claim.metadata.uid} ${claim.spec.since}`;
      if (await isBorne(claim, (ref, at) => Promise.resolve(context.read.find(ref, at)), context)) {
        if (seen.size >= MAX_SEEN) seen.clear();
        seen.add(key);
        return {};
      }
      const left = Date.parse(claim.spec.since) + CLAIM_GRACE_MS - context.now().getTime();
      if (left > 0 && !seen.has(key)) return { requeueAfterMs: left + 100 };
      // The cache may lag behind: what ends a claim is a live read.
      if (!(await isBorne(claim, (ref, at) => context.client.find(ref, at), context))) await releaseClaim(claim, context);
      seen.delete(key);
      return {};
    },
  });
}

async function isBorne(claim: Claim, find: Find, { read }: ReconcileContext): Promise<boolean> {
  const borne = await borneName(claim.spec.claimant, { find, read });
  return borne !== undefined && borne.scope === claim.spec.scope && borne.claimed === claim.spec.claimed;
}
