// The status of an Adjustment. Pure.
import { allowedFields, appliesAdjustments } from "../../crds/adjustment/adjustable.ts";
import type { Adjustment } from "../../crds/adjustment/adjustment.ts";
import { judgePatch, type Refusal } from "../../crds/adjustment/judge.ts";
import { findPatch, listActing, MAX_ADJUSTMENTS } from "../../crds/adjustment/of-process.ts";
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { ReconcileResult, ReadyDraft } from "../../kube/controller/controller.ts";

export interface AdjustedProcess {
  /** Its runner's class. */
  backend: BackendClass;
  /** All adjustments of the process. */
  all: readonly Adjustment[];
  /** Undefined while it does not run. */
  lrp: LRP | undefined;
}

export function planAdjustment(adjustment: Adjustment, process: AdjustedProcess): ReconcileResult {
  const { backend } = process;
  if (!appliesAdjustments(backend)) return { status: { refused: undefined }, ready: toNotSupported(backend) };
  const { name } = adjustment.spec.processRef;
  if (!listActing(name, process.all).some(({ metadata }) => metadata.name === adjustment.metadata.name))
    return { status: { refused: undefined }, ready: TOO_MANY };
  const { refused } = judgePatch(adjustment.spec.patch, allowedFields(backend));
  return {
    status: { refused: refused.length > 0 ? refused : undefined },
    ready: refused.length > 0 ? toRefused(refused) : planReady(name, process),
  };
}

const TOO_MANY: ReadyDraft = {
  status: "False",
  reason: "TooMany",
  message: `a process has at most ${MAX_ADJUSTMENTS} Adjustments, the first by name; put this patch into one of them`,
  isFailure: true,
};

function toNotSupported({ metadata }: BackendClass): ReadyDraft {
  return {
    status: "False",
    reason: "NotSupported",
    message: `the runner ${metadata.name} makes no pods, so there is nothing to adjust; set spec.runner of the Process to one that does (kubectl get cfclass)`,
    isFailure: true,
  };
}

function toRefused(refused: readonly Refusal[]): ReadyDraft {
  const [first] = refused;
  const more = refused.length > 1 ? `, and ${refused.length - 1} more` : "";
  return {
    status: "False",
    reason: "Refused",
    message: `left out: ${first?.path}: ${first?.message}${more}; status.refused lists what is left out, the rest acts`,
    isFailure: true,
  };
}

function planReady(name: string, { backend, all, lrp }: AdjustedProcess): ReadyDraft {
  if (!lrp) return { status: "True", reason: "NotRunning", message: "it acts at the next start" };
  if (lrp.spec.adjustment === findPatch(name, all, backend))
    return { status: "True", reason: "InForce", message: `revision ${lrp.spec.revision} has it` };
  return {
    status: "False",
    reason: "Pending",
    message: `revision ${lrp.spec.revision} started without it; it acts at the app's next restart (cup restart), or without a gap by cup rollout start`,
  };
}
