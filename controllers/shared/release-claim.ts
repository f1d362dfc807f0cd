// Releases a claim by uid and resourceVersion, so that an object that took it over meanwhile keeps it.
import { Claim } from "../../crds/claim/claim.ts";
import { ignoreGone } from "../../kube/client/ignore-gone.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";

export async function releaseClaim(claim: Claim, { client }: Pick<ReconcileContext, "client">): Promise<void> {
  const { uid, resourceVersion } = claim.metadata;
  await ignoreGone(client.delete(Claim, claim.metadata, { preconditions: { uid, resourceVersion } }));
}
