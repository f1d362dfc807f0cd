// The name that an Org or a Space goes by. Rights and suspension of what is there do not wait for one: whoever is renamed to a taken name goes on under
// the old one, though no claim holds that any more, so that another may bear it, too.
import type { ClaimedName } from "../../crds/claim/rules.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { Org } from "../../crds/org/org.ts";
import type { Space } from "../../crds/space/space.ts";
import { NotReady, type ReconcileContext, type ReconcileResult } from "../../kube/controller/controller.ts";
import { ensureClaim } from "./claims.ts";
import { hasNamespace } from "./owned-namespace.ts";

export interface EffectiveName {
  /** The one it asks for, or else the one it had last. */
  name: string | undefined;
  /** What is to be told when that is not the name it asks for. */
  nameTaken: Pick<ReconcileResult, "ready" | "requeueAfterMs">;
}

/** Holds the claim on the name it asks for. @throws NotReady when that is taken and the object has no namespace yet */
export async function ensureEffectiveName(
  object: Org | Space,
  claimed: ClaimedName,
  context: ReconcileContext,
): Promise<EffectiveName> {
  try {
    await ensureClaim(object.kind, object, claimed, context);
    return { name: displayNameOf(object), nameTaken: {} };
  } catch (error) {
    if (!(error instanceof NotReady) || !hasNamespace(object, context)) throw error;
    const { reason, message, requeueAfterMs } = error;
    return {
      name: object.status?.name,
      nameTaken: {
        ready: { status: "False", reason, message, isFailure: true },
        ...(requeueAfterMs !== undefined && { requeueAfterMs }),
      },
    };
  }
}
