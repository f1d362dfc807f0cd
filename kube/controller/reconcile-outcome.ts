// How a reconcile ended: what the Ready condition says of it, and when the key is looked at again.
import { isConflict, isUnreachable, KubeError } from "../client/errors.ts";
import { NotReady, type ReadyDraft, type ReconcileResult, Stalled } from "./controller.ts";
import { flattenErrors } from "./aggregate-errors.ts";
import type { RequeueAction } from "./workqueue.ts";
import { NotPermitted, NotSynced } from "../cache/errors.ts";

/** The summary for the Ready condition, and what to do with the key. */
export interface ReconcileOutcome {
  result: ReconcileResult;
  ready: ReadyDraft;
  requeue: RequeueAction;
  /** To be thrown after the status is written. */
  fault?: Error;
}

export const DONE: RequeueAction = { kind: "done" };
export const RECONCILED = { status: "True", reason: "Reconciled", message: "" } as const;
const MAX_MESSAGE = 4096;

/** Somebody else was quicker, or the cache is behind: nothing is wrong, so it is tried again and nothing is said. */
export function isStaleRead(error: unknown): boolean {
  return flattenErrors(error).every((one) => isConflict(one) || one instanceof NotSynced);
}

/** It says nothing about the object, or could not be written anyway. */
export function keepsStatus({ fault, result, ready }: ReconcileOutcome): boolean {
  if (fault === undefined) return result.keepStatus === true && ready === RECONCILED;
  return flattenErrors(fault).every((one) => one instanceof NotSynced || isUnreachable(one));
}

export function toRequeue(afterMs: number | undefined): RequeueAction {
  return afterMs === undefined ? DONE : { kind: "requeue", afterMs };
}

/** Of an AggregateError the worst part gives the reason, and all of them speak in the message. */
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
  // The watch that resumes wakes everybody who waits for it.
  if (error instanceof NotPermitted) return failed("PermissionMissing", error.message);
  if (error instanceof KubeError && error.code !== 0) return failed(error.reason || "Refused", error.message, error);
  // Only the log knows more: the text of an unforeseen error may hold anything.
  return failed(
    "InternalError",
    "an unexpected fault; it is tried again, and the platform's log tells more",
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
  // Several unforeseen ones have one text.
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
  return error instanceof Error ? error : new Error("something that is not an Error was thrown", { cause: error });
}
