// Holds starts back that operator policy denies or cannot decide: no new Revision and no TaskRun is made. What runs is never stopped.
import { LRUCache } from "lru-cache";
import { ALLOWED_START, type StartVerdict } from "../../crds/policy-template/start.ts";
import {
  keyOf,
  parseKey,
  type Condition,
  type KubeObject,
  type ObjectKey,
  type ObjectMeta,
} from "../../kube/api/object.ts";
import type { ReadyDraft, ReconcileResult } from "../../kube/controller/controller.ts";

/** Operator policy as it is known to this process. */
export interface StartGate {
  /** The verdict about the objects that a start takes a snapshot of. */
  judge(objects: readonly KubeObject[]): StartVerdict;
  /** Calls `listener` when verdicts may have changed. Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
}

/** For permissions, which do not depend on it. */
export const OPEN_GATE: StartGate = { judge: () => ALLOWED_START, onChange: () => () => undefined };

export const POLICY_DENIED = "PolicyDenied";
export const POLICY_UNKNOWN = "PolicyUnknown";

/** An undecided start is judged again after this time: a cache that is readable again may have no change to tell. */
const RETRY_MS = 5_000;
/**
 * A new object that a rule with reads allows is judged a second time after this. By then the cache has all that were created in the same second, so that
 * a rule which counts older objects holds back all but the oldest.
 */
const SETTLE_MS = 2_000;
/** Bounds the memory of objects that were deleted while they were held. Beyond it the least recent are judged again by their next event alone. */
const MAX_REMEMBERED = 10_000;
/** Objects older than this were seen by all caches long ago. Far more than clocks differ. */
const NEW_MS = 60_000;

/** Ready of an object whose start is held back, and when to judge it again without a change. */
export type HeldStart = Required<Pick<ReconcileResult, "ready">> & Pick<ReconcileResult, "requeueAfterMs">;

/** The starts that one controller holds back. */
export interface HeldStarts {
  /** Why the object may not start; undefined when it may. It is reconciled again when verdicts may have changed. */
  find(of: ObjectMeta, objects: readonly KubeObject[], now: Date): HeldStart | undefined;
  /** A source of the controller. */
  source(enqueue: (key: ObjectKey) => void, signal: AbortSignal): void;
}

export function createHeldStarts(gate: StartGate): HeldStarts {
  /** When each object was judged first, by uid, in milliseconds: an allowed one does not wait again. */
  const judged = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  const held = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  return {
    find(metadata, objects, now) {
      const uid = metadata.uid ?? keyOf(metadata);
      const since = judged.get(uid) ?? now.getTime();
      judged.set(uid, since);
      const problem = toHeldStart(gate.judge(objects), settlesIn(metadata, now, since));
      if (problem) held.set(keyOf(metadata), true);
      else held.delete(keyOf(metadata));
      return problem;
    },
    source(enqueue, signal) {
      const stop = gate.onChange(() => {
        for (const key of held.keys()) enqueue(parseKey(key));
      });
      signal.addEventListener("abort", stop, { once: true });
    },
  };
}

/** Milliseconds until a verdict about the object is final. */
function settlesIn({ creationTimestamp = "" }: ObjectMeta, now: Date, since: number): number {
  const isNew = now.getTime() - Date.parse(creationTimestamp) < NEW_MS;
  return isNew ? Math.max(0, since + SETTLE_MS - now.getTime()) : 0;
}

function toHeldStart({ denied, undecided, readsOthers }: StartVerdict, settlesInMs: number): HeldStart | undefined {
  if (denied.length > 0) return { ready: toReady(POLICY_DENIED, denied) };
  if (undecided.length > 0) return { ready: toReady(POLICY_UNKNOWN, undecided), requeueAfterMs: RETRY_MS };
  if (!readsOthers || settlesInMs === 0) return undefined;
  const message =
    "operator policy counts others: it judges a new object again two seconds later, so that of several at once one waits";
  return { ready: { status: "False", reason: "PolicyPending", message }, requeueAfterMs: settlesInMs };
}

const MAX_MESSAGE = 4_096;

function toReady(reason: string, sentences: readonly string[]): ReadyDraft {
  return { status: "False", reason, message: sentences.join("; ").slice(0, MAX_MESSAGE), isFailure: true };
}

/** The Ready condition of an object whose start is held back, as it was written last. */
export function findHeldReady(conditions: readonly Condition[] = []): ReadyDraft | undefined {
  const ready = conditions.find(({ type }) => type === "Ready");
  const isHeld = ready?.status === "False" && [POLICY_DENIED, POLICY_UNKNOWN].includes(ready.reason);
  return isHeld ? { status: "False", reason: ready.reason, message: ready.message, isFailure: true } : undefined;
}
