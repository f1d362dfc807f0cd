// Whether and when a failed request to a registry is tried again. Pure.
import { backoffDelay, type Backoff } from "../../kube/client/backoff.ts";

const BACKOFF: Backoff = { minMs: 100, maxMs: 5_000, jitter: 1 };
const MAX_FAILURES = 5;
/** A longer Retry-After is not waited for: somebody waits for the answer. */
const MAX_RETRY_AFTER_MS = 20_000;
const RETRYABLE = new Set([408, 425, 429, 500, 502, 503, 504]);

/** A failure. `status` is 0 when no answer came. */
export interface Failure {
  /** Failures in a row so far, this one included. */
  failures: number;
  status: number;
  /** The header Retry-After: seconds or a date. */
  retryAfter?: string | undefined;
}

export function isRetryable(status: number): boolean {
  return status === 0 || RETRYABLE.has(status);
}

/** Milliseconds to wait before the next try; undefined when there is none. `now` is in ms since the epoch, `random` in [0, 1). */
export function retryDelay({ failures, status, retryAfter }: Failure, now: number, random: number): number | undefined {
  if (!isRetryable(status) || failures >= MAX_FAILURES) return undefined;
  const asked = retryAfterMs(retryAfter, now);
  if (asked > MAX_RETRY_AFTER_MS) return undefined;
  return Math.max(asked, backoffDelay(BACKOFF, failures, random));
}

/** 0 when the header is absent or unreadable. */
export function retryAfterMs(header: string | undefined, now: number): number {
  if (header === undefined) return 0;
  const milliseconds = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(milliseconds) ? Math.max(milliseconds, 0) : 0;
}
