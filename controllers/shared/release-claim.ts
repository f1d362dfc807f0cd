// Releases a claim by uid and resourceVersion, so that an object that took it over meanwhile keeps it.
import { Claim } from "../../crds/claim/claim.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";

export async function releaseClaim(claim: Claim, { client }: Pick<ReconcileContext, "client">): Promise<void> {
  const { uid, resourceVersion } = claim.metadata;
  try {
    await client.delete(Claim, claim.metadata, { preconditions: { uid, resourceVersion } });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
