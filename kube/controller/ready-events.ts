// Decides which Event follows a written Ready condition: one when a failure begins or changes, and one when it ends. Keeps state, does no I/O.
import { LRUCache } from "lru-cache";
import type { Condition } from "../api/object.ts";
import type { ReadyDraft } from "./controller.ts";
import type { EventDraft } from "./event-recorder.ts";

/** Bound of the failing objects in memory. Beyond it, and after a restart of the process, the end of a failure emits no Event. */
const MAX_FAILING = 10_000;

export interface ReadyEvents {
  /** Call it at every reconcile, so that replicas without a write also record the failure. */
  observe(uid: string, ready: ReadyDraft): void;
  /** Call it after `ready` has replaced `before`. */
  planEvent(uid: string, before: Condition | undefined, ready: ReadyDraft): EventDraft | undefined;
}

export function createReadyEvents(): ReadyEvents {
  /** Reason of the last failure by uid. */
  const failing = new LRUCache<string, string>({ maxSize: MAX_FAILING, sizeCalculation: () => 1 });
  return {
    observe(uid, ready) {
      if (ready.isFailure) failing.set(uid, ready.reason);
    },
    planEvent(uid, before, ready) {
      if (ready.isFailure) return isKnown(before, ready) ? undefined : toWarning(ready);
      const failure = failing.get(uid);
      if (ready.status !== "True" || failure === undefined) return undefined;
      failing.delete(uid);
      return { type: "Normal", reason: "Recovered", message: toRecovery(failure, ready.message) };
    },
  };
}

function isKnown(before: Condition | undefined, { status, reason }: ReadyDraft): boolean {
  return before?.status === status && before.reason === reason;
}

function toWarning({ reason, message }: ReadyDraft): EventDraft {
  return { type: "Warning", reason, message };
}

function toRecovery(failure: string, message: string): string {
  return message === "" ? `${failure} is over` : `${failure} is over: ${message}`;
}
