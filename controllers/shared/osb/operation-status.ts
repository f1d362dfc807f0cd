// The status of a broker's operation as it goes on: begun, accepted, over, and when to ask next. Pure.
import {
  MAX_OPERATION_DESCRIPTION,
  type LastOperation,
  type PendingOperation,
} from "../../../crds/service-instance/managed-fields.ts";
import { laterDelaySeconds, MAX_POLLING_SECONDS, pollDelaySeconds, retryDelaySeconds } from "./outcomes.ts";

export interface OperationStatus {
  lastOperation: LastOperation;
  operation: PendingOperation | undefined;
}

/** The intent, written before the broker is asked: after a crash it is known that it may have been. */
export function beginOperation(
  type: LastOperation["type"],
  { now, generation, operation }: { now: Date; generation: number | undefined; operation?: PendingOperation },
): OperationStatus {
  const time = now.toISOString();
  return {
    lastOperation: {
      type,
      state: "initial",
      description: "",
      ...(generation !== undefined && { generation }),
      createdAt: time,
      updatedAt: time,
    },
    operation,
  };
}

export function nextState(
  last: LastOperation,
  { state, description = "", now }: { state: LastOperation["state"]; description?: string | undefined; now: Date },
): LastOperation {
  const words = description.slice(0, MAX_OPERATION_DESCRIPTION);
  // An unchanged status is not written.
  if (last.state === state && last.description === words) return last;
  return { ...last, state, description: words, updatedAt: now.toISOString() };
}

/** The same of an attempt, whose time counts for the next one. */
export function nextAttempt(
  last: LastOperation,
  { state, description, now }: { state: LastOperation["state"]; description: string; now: Date },
): LastOperation {
  return { ...nextState(last, { state, description, now }), updatedAt: now.toISOString() };
}

/** Work with a start and a limit in seconds; without a limit, CF's. */
interface Bounded {
  since: string;
  maximumSeconds: number | undefined;
}

/** Seconds that are left of what the plan, or CF, allows; negative when it is over. */
function secondsLeft({ since, maximumSeconds = MAX_POLLING_SECONDS }: Bounded, now: Date): number {
  return Math.min(maximumSeconds, MAX_POLLING_SECONDS) - secondsSince(since, now);
}

export function isOverdue(bounded: Bounded, now: Date): boolean {
  return secondsLeft(bounded, now) < 0;
}

/** A broker that wants to be asked later than it may take is asked at the end. */
export function nextPollMs(bounded: Bounded, retryAfterSeconds: number | undefined, now: Date): number {
  const delay = pollDelaySeconds(secondsSince(bounded.since, now), retryAfterSeconds);
  return Math.min(delay, Math.max(secondsLeft(bounded, now), 0) + 1) * 1000;
}

/** Milliseconds until a failed attempt to delete is repeated; 0 when it is time. */
export function retryWaitMs(at: string, attempts: number, now: Date): number {
  return Math.max(0, retryDelaySeconds(attempts) - secondsSince(at, now)) * 1000;
}

/** Milliseconds until a request that the broker did not take is sent again; 0 when it is time. */
export function laterWaitMs({ updatedAt }: LastOperation, attempts: number, now: Date): number {
  return attempts === 0 ? 0 : Math.max(0, laterDelaySeconds(attempts) - secondsSince(updatedAt, now)) * 1000;
}

function secondsSince(time: string, now: Date): number {
  return (now.getTime() - Date.parse(time)) / 1000;
}
