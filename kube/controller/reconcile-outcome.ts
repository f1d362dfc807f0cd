// How a reconcile ended: what the Ready condition says of it, and when the key is looked at again.
import { isConflict, isUnreachable, KubeError } from "../client/errors.ts";
import { type ConditionDraft, NotReady, type ReconcileResult, Stalled } from "./controller.ts";
import { partsOf } from "./aggregate-errors.ts";
import type { Outcome } from "./workqueue.ts";
import { NotPermitted, NotSynced } from "../cache/reader.ts";

/** The summary for the Ready condition, and what to do with the key. */
export interface Ending {
  result: ReconcileResult;
  ready: Omit<ConditionDraft, "type">;
  then: Outcome;
  /** To be thrown after the status is written. */
  fault?: Error;
}

export const DONE: Outcome = { then: "done" };
export const RECONCILED = { status: "True", reason: "Reconciled", message: "" } as const;
const MAX_MESSAGE = 4096;

/** Somebody else was quicker, or the cache is behind: nothing is wrong, so it is tried again and nothing is said. */
export function isOutrun(error: unknown): boolean {
  return partsOf(error).every((one) => isConflict(one) || one instanceof NotSynced);
}

/** It says nothing about the object, or could not be written anyway. */
export function isSilent({ fault, result, ready }: Ending): boolean {
  if (fault === undefined) return result.silent === true && ready === RECONCILED;
  return partsOf(fault).every((one) => one instanceof NotSynced || isUnreachable(one));
}

export function toOutcome(afterMs: number | undefined): Outcome {
  return afterMs === undefined ? DONE : { then: "again", afterMs };
}

/** Of an AggregateError the worst part gives the reason, and all of them speak in the message. */
export function toEnding(error: unknown): Ending {
  return error instanceof AggregateError ? toJointEnding(error) : toOneEnding(error);
}

function toOneEnding(error: unknown): Ending {
  const failed = (reason: string, message: string, then: Outcome = DONE, fault?: Error): Ending => ({
    result: {},
    ready: { status: "False", reason, message },
    then,
    ...(fault !== undefined && { fault }),
  });
  if (error instanceof NotReady) return failed(error.reason, error.message, toOutcome(error.requeueAfterMs));
  if (error instanceof Stalled) return failed(error.reason, error.message);
  // The watch that resumes wakes everybody who waits for it.
  if (error instanceof NotPermitted) return failed("PermissionMissing", error.message);
  if (error instanceof KubeError && error.code !== 0) return failed(error.reason || "Refused", error.message, DONE, error);
  // Only the log knows more: the text of an unforeseen error may hold anything.
  return failed("InternalError", "an unexpected fault; it is tried again, and the platform's log tells more", DONE, toError(error));
}

function toJointEnding(error: AggregateError): Ending {
  const parts = partsOf(error);
  const told = parts.filter((part) => !isOutrun(part));
  // Several unforeseen ones have one text.
  const endings = (told.length > 0 ? told : parts).map(toOneEnding);
  const worst = endings.find(({ fault }) => fault && !isUnreachable(fault)) ?? endings.find(({ fault }) => fault) ?? endings[0] ?? toOneEnding(error);
  const message = [...new Set(endings.map(({ ready }) => ready.message))].join("; ").slice(0, MAX_MESSAGE);
  const faulty = endings.some(({ fault }) => fault !== undefined);
  return { result: {}, ready: { ...worst.ready, message }, then: told.length < parts.length ? { then: "retry" } : soonest(endings), ...(faulty && { fault: error }) };
}

function soonest(endings: readonly Ending[]): Outcome {
  const delays = endings.flatMap(({ then }) => (then.then === "again" ? [then.afterMs] : []));
  return delays.length > 0 ? toOutcome(Math.min(...delays)) : DONE;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error("something that is not an Error was thrown", { cause: error });
}
