// Orphan mitigation: takes back what a failed create may have left at the broker, until the broker says that it has nothing.
import type { PendingOperation } from "../../../crds/service-instance/managed-fields.ts";
import type { ReconcileResult } from "../../../kube/controller/controller.ts";
import { retryWaitMs } from "./operation-status.ts";
import { askProgress, waitToPoll } from "./polling.ts";
import { askRemoval, type Provided } from "./provided.ts";
import { failedReady, orphanedCondition, TAKEN_BACK } from "./ready.ts";

export async function mitigate(work: Provided): Promise<ReconcileResult> {
  const { last, operation = {}, context } = work;
  if (!last) return {};
  const ready = failedReady(last);
  if (operation.isAccepted && operation.at !== undefined)
    return { ...(await pollMitigation(work, operation.at)), ready };
  const { attempts = 0, at } = operation;
  const waitMs = attempts === 0 || at === undefined ? 0 : retryWaitMs(at, attempts, context.now());
  return waitMs > 0 ? { ready, requeueAfterMs: waitMs } : { ...(await askToRemove(work)), ready };
}

async function askToRemove(work: Provided): Promise<ReconcileResult> {
  const outcome = await askRemoval(work);
  if (outcome.kind === "done") return takenBack();
  if (outcome.kind !== "accepted") return failAttempt(work, outcome.why);
  const { id, retryAfterSeconds } = outcome;
  const now = work.context.now();
  const at = now.toISOString();
  waitToPoll(work, { since: at, retryAfterSeconds }, now);
  return next(work, { isAccepted: true, at, ...(id !== undefined && { id }) }, "it goes on by itself");
}

async function pollMitigation(work: Provided, since: string): Promise<ReconcileResult> {
  const polled = await askProgress(work, { type: "delete", since });
  if (polled.state === "succeeded") return takenBack();
  if (polled.state === "failed") return failAttempt(work, polled.why);
  return { requeueAfterMs: polled.delayMs };
}

function takenBack(): ReconcileResult {
  return { status: { operation: undefined }, conditions: [TAKEN_BACK] };
}

function failAttempt(work: Provided, why: string): ReconcileResult {
  const attempts = (work.operation?.attempts ?? 0) + 1;
  return next(work, { attempts }, `attempt ${attempts} has failed: ${why}`);
}

/** The status until the next step: the write of this one is the event that leads to it. */
function next({ operation, context }: Provided, step: PendingOperation, how: string): ReconcileResult {
  const { attempts = 0 } = operation ?? {};
  const at = context.now().toISOString();
  return {
    status: { operation: { attempts, isOrphan: true, at, ...step } },
    conditions: [orphanedCondition(how)],
  };
}
