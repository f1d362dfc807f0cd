// The status of a broker's operation as it goes on: begun, accepted, over. Pure.
import {
  MAX_OPERATION_DESCRIPTION,
  type LastOperation,
  type PendingOperation,
} from "../../../crds/service-instance/managed-fields.ts";
import { MAX_POLLING_SECONDS, pollDelaySeconds, retryDelaySeconds } from "./outcomes.ts";

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
  // What has not changed is not written.
  if (last.state === state && last.description === words) return last;
  return { ...last, state, description: words, updatedAt: now.toISOString() };
}

/** Has an operation under way taken longer than the plan, or CF, allows? */
export function isOverdue(last: LastOperation, maximumSeconds: number | undefined, now: Date): boolean {
  return secondsSince(last.createdAt, now) > Math.min(maximumSeconds ?? MAX_POLLING_SECONDS, MAX_POLLING_SECONDS);
}

export function nextPollMs(last: LastOperation, retryAfterSeconds: number | undefined, now: Date): number {
  return pollDelaySeconds(secondsSince(last.createdAt, now), retryAfterSeconds) * 1000;
}

/** Milliseconds until a failed attempt is repeated; 0 when it is time. */
export function retryWaitMs(last: LastOperation, attempts: number, now: Date): number {
  return Math.max(0, retryDelaySeconds(attempts) - secondsSince(last.updatedAt, now)) * 1000;
}

function secondsSince(time: string, now: Date): number {
  return (now.getTime() - Date.parse(time)) / 1000;
}
