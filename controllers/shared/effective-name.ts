// The effective name of an Org or a Space. An object that is renamed to a taken name keeps its old one, so that its roles and suspension stay in force.
// Its claim on the old name is released, so another object may take that name.
import type { ClaimedName } from "../../crds/claim/rules.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { Org } from "../../crds/org/org.ts";
import type { Space } from "../../crds/space/space.ts";
import { NotReady, type ReconcileContext, type ReconcileResult } from "../../kube/controller/controller.ts";
import { ensureClaim } from "./claims.ts";
import { hasNamespace } from "./owned-namespace.ts";

export interface EffectiveName {
  /** The requested name, or else the previous one. */
  name: string | undefined;
  /** The condition to report when that is not the requested name. */
  nameTaken: Pick<ReconcileResult, "ready" | "requeueAfterMs">;
}

/** Claims the requested name. @throws NotReady when it is taken and the object has no namespace yet */
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
