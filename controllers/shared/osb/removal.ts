// Deletes an instance or binding at its broker, a step each time, until the broker has it no more.
import type { LastOperation } from "../../../crds/service-instance/managed-fields.ts";
import { NotReady } from "../../../kube/controller/controller.ts";
import { beginOperation, nextAttempt, nextPollMs, nextState, retryWaitMs } from "./operation-status.ts";
import { askProgress, waitToPoll } from "./polling.ts";
import { askRemoval, type Provided } from "./provided.ts";

/** @throws NotReady until that is done, with the status so far */
export async function removeAtBroker(work: Provided): Promise<void> {
  const { last, context } = work;
  if (last?.type !== "delete") throw begun(work);
  if (last.state === "in progress") return pollRemoval(work, last);
  if (last.state !== "failed") return startRemoval(work, last);
  const waitMs = waitAfterFailure(work, last);
  if (waitMs > 0) throw removalFailed(last.description, { requeueAfterMs: waitMs });
  // Each attempt has all of its time.
  return startRemoval(work, { ...last, createdAt: context.now().toISOString() });
}

/** A repeated wish is heard at once. */
function waitAfterFailure({ operation, wish, memory, guid, context }: Provided, last: LastOperation): number {
  const attempts = operation?.attempts ?? 0;
  if (attempts === 0 || operation?.wish !== wish) return 0;
  return Math.max(retryWaitMs(last.updatedAt, attempts, context.now()), memory.waitMs(guid, last, context.now()));
}

function begun({ context, object }: Provided): NotReady {
  const status = beginOperation("delete", { now: context.now(), generation: object.metadata.generation });
  // Its write is the event that leads to the next step.
  return removalUnderWay({ status: { ...status } });
}

async function startRemoval(work: Provided, last: LastOperation): Promise<void> {
  const outcome = await askRemoval(work);
  if (outcome.kind === "done") return;
  const now = work.context.now();
  if (outcome.kind !== "accepted") throw failed(work, last, outcome);
  const { id, description, retryAfterSeconds } = outcome;
  const { operation, wish } = work;
  const at = now.toISOString();
  const attempts = operation?.attempts;
  throw removalUnderWay({
    requeueAfterMs: waitToPoll(work, { since: at, retryAfterSeconds }, now),
    status: {
      lastOperation: nextState(last, { state: "in progress", description, now }),
      operation: { id, attempts, wish, at },
    },
  });
}

async function pollRemoval(work: Provided, last: LastOperation): Promise<void> {
  const polled = await askProgress(work, {
    type: "delete",
    since: work.operation?.at ?? last.createdAt,
  });
  if (polled.state === "succeeded") return;
  // A wish that came since the broker has taken it was not tried yet.
  if (polled.state === "failed") throw failed({ ...work, wish: work.operation?.wish }, last, polled);
  const { delayMs, description = last.description } = polled;
  const lastOperation = nextState(last, { state: "in progress", description, now: work.context.now() });
  throw removalUnderWay({ requeueAfterMs: delayMs, status: { lastOperation } });
}

function failed(
  work: Provided,
  last: LastOperation,
  { why, retryAfterSeconds = 0 }: { why: string; retryAfterSeconds?: number | undefined },
): NotReady {
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

interface Waiting {
  status?: Readonly<Record<string, unknown>>;
  requeueAfterMs?: number;
}

function removalUnderWay(waiting: Waiting): NotReady {
  return new NotReady("OperationInProgress", "the service broker's delete is under way", waiting);
}

function removalFailed(why: string, waiting: Waiting): NotReady {
  return new NotReady("DeprovisionFailed", `${why} It is tried again.`, { isFailure: true, ...waiting });
}
