// The conditions of a RouteBinding that Services serve: what the class lacks, what is wrong, and whether an instance answers. Pure.
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { ConditionDraft, ReadyDraft, ReconcileResult } from "../../../kube/controller/controller.ts";
import { findLimitation } from "./plan.ts";
import type { InstanceVerdict } from "./ready-instances.ts";

/** `problem`: why the class serves nothing, if it does not. */
export function presentBinding(
  binding: RouteBinding,
  { problem, instances }: { problem?: ReadyDraft | undefined; instances: InstanceVerdict },
): ReconcileResult {
  const { hostname, path, port, destinations } = binding.spec;
  const address = port === 0 ? `${hostname}${path}` : `${hostname}:${port}`;
  const limitation = findLimitation(binding);
  if (limitation?.isServed === false) return { ready: notReady("NotSupported", limitation.message) };
  const routed = destinations.length > 0 ? "is served" : "exists, and no app is mapped to it";
  return {
    ready: problem ?? instances.ready ?? { status: "True", reason: "Routed", message: `${address} ${routed}` },
    ...presentLimited(binding, limitation?.message),
    ...(!problem && instances.requeueAfterMs !== undefined && { requeueAfterMs: instances.requeueAfterMs }),
  };
}

/** A Ready condition for what a person must mend. */
export function notReady(reason: string, message: string): ReadyDraft {
  return { status: "False", reason, message, isFailure: true };
}

/** The condition Limited, once there is or was something to say. */
function presentLimited(binding: RouteBinding, message: string | undefined): Pick<ReconcileResult, "conditions"> {
  const wasLimited = binding.status?.conditions?.some(({ type }) => type === "Limited");
  if (message === undefined && !wasLimited) return {};
  const limited: ConditionDraft = message
    ? { type: "Limited", status: "True", reason: "NotSupported", message }
    : { type: "Limited", status: "False", reason: "None", message: "" };
  return { conditions: [limited] };
}
