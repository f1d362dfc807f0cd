// Deletes an instance or binding at its broker, a step each time, until the broker has it no more.
import type { LastOperation } from "../../../crds/service-instance/managed-fields.ts";
import type { FinalizeResult, ReconcileResult } from "../../../kube/controller/controller.ts";
import { beginOperation, nextAttempt, nextPollMs, nextState, retryWaitMs } from "./operation-status.ts";
import { askProgress, waitToPoll } from "./polling.ts";
import { askRemoval, type Provided } from "./provided.ts";

/** The status so far; undefined when the broker has it no more. */
export async function removeAtBroker(work: Provided): Promise<FinalizeResult> {
  const { last, context } = work;
  if (last?.type !== "delete") return begun(work);
  if (last.state === "in progress") return pollRemoval(work, last);
  if (last.state !== "failed") return startRemoval(work, last);
  const waitMs = waitAfterFailure(work, last);
  if (waitMs > 0) return removalFailed(last.description, { requeueAfterMs: waitMs });
  // Each attempt has all of its time.
  return startRemoval(work, { ...last, createdAt: context.now().toISOString() });
}

/** A repeated wish is heard at once. */
function waitAfterFailure({ operation, wish, memory, guid, context }: Provided, last: LastOperation): number {
  const attempts = operation?.attempts ?? 0;
  if (attempts === 0 || operation?.wish !== wish) return 0;
  return Math.max(retryWaitMs(last.updatedAt, attempts, context.now()), memory.waitMs(guid, last, context.now()));
}

function begun({ context, object }: Provided): FinalizeResult {
  const status = beginOperation("delete", { now: context.now(), generation: object.metadata.generation });
  // Its write is the event that leads to the next step.
  return removalUnderWay({ status: { ...status } });
}

async function startRemoval(work: Provided, last: LastOperation): Promise<FinalizeResult> {
  const outcome = await askRemoval(work);
  if (outcome.kind === "done") return undefined;
  const now = work.context.now();
  if (outcome.kind !== "accepted") return failed(work, last, outcome);
  const { id, description, retryAfterSeconds } = outcome;
  const { operation, wish } = work;
  const at = now.toISOString();
  const attempts = operation?.attempts;
  return removalUnderWay({
    requeueAfterMs: waitToPoll(work, { since: at, retryAfterSeconds }, now),
    status: {
      lastOperation: nextState(last, { state: "in progress", description, now }),
      operation: { id, attempts, wish, at },
    },
  });
}

async function pollRemoval(work: Provided, last: LastOperation): Promise<FinalizeResult> {
  const polled = await askProgress(work, {
    type: "delete",
    since: work.operation?.at ?? last.createdAt,
  });
  if (polled.state === "succeeded") return undefined;
  // A wish that came since the broker has taken it was not tried yet.
  if (polled.state === "failed") return failed({ ...work, wish: work.operation?.wish }, last, polled);
  const { delayMs, description = last.description } = polled;
  const lastOperation = nextState(last, { state: "in progress", description, now: work.context.now() });
  return removalUnderWay({ requeueAfterMs: delayMs, status: { lastOperation } });
}

function failed(
  work: Provided,
  last: LastOperation,
  { why, retryAfterSeconds = 0 }: { why: string; retryAfterSeconds?: number | undefined },
): FinalizeResult {
  const { operation, wish, memory, guid, maximumSeconds } = work;
  const now = work.context.now();
  const attempts = (operation?.attempts ?? 0) + 1;
  const lastOperation = nextAttempt(last, { state: "failed", description: why, now });
  const askedMs =
    retryAfterSeconds > 0 ? nextPollMs({ since: last.createdAt, maximumSeconds }, retryAfterSeconds, now) : 0;
  memory.set(guid, lastOperation, now.getTime() + askedMs);
  return removalFailed(why, {
    requeueAfterMs: Math.max(retryWaitMs(lastOperation.updatedAt, attempts, now), askedMs),
    status: {
      lastOperation,
      operation: { attempts, wish },
    },
  });
}

type Waiting = Pick<ReconcileResult, "status" | "requeueAfterMs">;

function removalUnderWay(waiting: Waiting): FinalizeResult {
  return {
    ...waiting,
    ready: {
      status: "False",
      reason: "OperationInProgress",
      message: "the service broker's delete is under way",
    },
  };
}

function removalFailed(why: string, waiting: Waiting): FinalizeResult {
  const message = `${why} It is tried again.`;
  return { ...waiting, ready: { status: "False", reason: "DeprovisionFailed", message, isFailure: true } };
}
