// Logs failed reconciles: a refusal of the API server in one line, without a stack, and once until it changes.
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { KubeError } from "../client/errors.ts";
import { flattenErrors } from "./aggregate-errors.ts";

/** Keys whose last refusal is remembered. */
const MAX_KEYS = 10_000;
/** So long a refusal that repeats is not logged again. */
const REPEAT_MS = 3_600_000;

/** A refusal is in the Ready condition, so its message suffices; an unexpected error needs its stack in the log. */
export function createFaultLog(log: Logger): (key: string, error: unknown) => void {
  const refusals = new LRUCache<string, string>({ maxSize: MAX_KEYS, sizeCalculation: () => 1, ttl: REPEAT_MS });
  return (key, error) => {
    const refusal = describeRefusal(error);
    if (refusal === undefined) return log.warn({ key, err: error }, "reconcile failed; it is retried");
    const isRepeated = refusals.get(key) === refusal;
    if (!isRepeated) refusals.set(key, refusal);
    log[isRepeated ? "debug" : "warn"]({ key, refusal }, "the API server refused a write; it is retried");
  };
}

/** The API server's refusal, when nothing else went wrong. */
function describeRefusal(error: unknown): string | undefined {
  const errors = flattenErrors(error);
  const refusals = errors.filter((one) => one instanceof KubeError && one.code >= 400 && one.code < 500);
  return refusals.length === errors.length ? refusals.map((one) => (one as KubeError).message).join("; ") : undefined;
}
