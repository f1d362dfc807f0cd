// Outcome of a reconcile: the Ready condition and when to requeue the key.
import { isConflict, isUnreachable, KubeError } from "../client/errors.ts";
import { NotReady, type ReadyDraft, type ReconcileResult, Stalled } from "./controller.ts";
import { flattenErrors } from "./aggregate-errors.ts";
import type { RequeueAction } from "./workqueue.ts";
import { NotPermitted, NotSynced } from "../cache/errors.ts";

/** The Ready condition, and the action for the key. */
export interface ReconcileOutcome {
  result: ReconcileResult;
  ready: ReadyDraft;
  requeue: RequeueAction;
  /** Thrown after the status is written. */
  fault?: Error;
}

export const DONE: RequeueAction = { kind: "done" };
export const RECONCILED = { status: "True", reason: "Reconciled", message: "" } as const;
const MAX_MESSAGE = 4096;

/** A conflict or a stale cache: nothing is wrong, so retry without a condition. */
export function isStaleRead(error: unknown): boolean {
  return flattenErrors(error).every((one) => isConflict(one) || one instanceof NotSynced);
}

/** Skip the status: nothing is known about the object, or it could not be written anyway. */
export function skipsStatusWrite({ fault, result, ready }: ReconcileOutcome): boolean {
  if (fault === undefined) return result.keepStatus === true && ready === RECONCILED;
  return flattenErrors(fault).every((one) => one instanceof NotSynced || isUnreachable(one));
}

export function toRequeue(afterMs: number | undefined): RequeueAction {
  return afterMs === undefined ? DONE : { kind: "requeue", afterMs };
}

/** For an AggregateError the worst error gives the reason, and the message lists all. */
export function toReconcileOutcome(error: unknown): ReconcileOutcome {
  return error instanceof AggregateError ? toAggregateOutcome(error) : toSingleOutcome(error);
}

function toSingleOutcome(error: unknown): ReconcileOutcome {
  const failed = (reason: string, message: string, fault?: Error): ReconcileOutcome => ({
    result: {},
    ready: { status: "False", reason, message, isFailure: true },
    requeue: DONE,
    ...(fault !== undefined && { fault }),
  });
  if (error instanceof NotReady) return toWaitingOutcome(error);
  if (error instanceof Stalled) return failed(error.reason, error.message);
  // The resumed watch enqueues every key that waits.
  if (error instanceof NotPermitted) return failed("PermissionMissing", error.message);
  if (error instanceof KubeError && error.code !== 0) return failed(error.reason || "Refused", error.message, error);
  // Details go to the log only: the text of an unexpected error may hold anything.
  return failed(
    "InternalError",
    "unexpected error; it is retried, and the platform's log has the details",
    toError(error),
  );
}

function toWaitingOutcome({ reason, message, requeueAfterMs, isFailure }: NotReady): ReconcileOutcome {
  return {
    result: {},
    ready: { status: "False", reason, message, ...(isFailure && { isFailure }) },
    requeue: toRequeue(requeueAfterMs),
  };
}

function toAggregateOutcome(error: AggregateError): ReconcileOutcome {
  const errors = flattenErrors(error);
  const reported = errors.filter((part) => !isStaleRead(part));
  // Unexpected errors share one text.
  const outcomes = (reported.length > 0 ? reported : errors).map(toSingleOutcome);
  const worst =
    outcomes.find(({ fault }) => fault && !isUnreachable(fault)) ??
    outcomes.find(({ fault }) => fault) ??
    outcomes[0] ??
    toSingleOutcome(error);
  const message = [...new Set(outcomes.map(({ ready }) => ready.message))].join("; ").slice(0, MAX_MESSAGE);
  const hasError = outcomes.some(({ fault }) => fault !== undefined);
  return {
    result: {},
    ready: { ...worst.ready, message },
    requeue: reported.length < errors.length ? { kind: "retry" } : earliestRequeue(outcomes),
    ...(hasError && { fault: error }),
  };
}

function earliestRequeue(outcomes: readonly ReconcileOutcome[]): RequeueAction {
  const delays = outcomes.flatMap(({ requeue }) => (requeue.kind === "requeue" ? [requeue.afterMs] : []));
  return delays.length > 0 ? toRequeue(Math.min(...delays)) : DONE;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error("a value that is no Error was thrown", { cause: error });
}
