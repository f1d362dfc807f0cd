// Which Event a written Ready condition deserves: one when a failure begins or changes, one when it is over. Pure but for its memory.
import { LRUCache } from "lru-cache";
import type { Condition } from "../api/object.ts";
import type { ReadyDraft } from "./controller.ts";
import type { EventDraft } from "./event-recorder.ts";

/** Failing objects that are remembered. Beyond it, and after a restart of the program, the end of a failure has no Event. */
const MAX_FAILING = 10_000;

export interface ReadyEvents {
  /** Called at every reconcile; a replica that writes nothing learns of a failure, too. */
  observe(uid: string, ready: ReadyDraft): void;
  /** Called once `ready` is written over `before`. */
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
