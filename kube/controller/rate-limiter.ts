// Retry delays: the key's exponential backoff, or a shared token bucket if that takes longer.

export interface RateLimits {
  /** First delay of a key; doubles with each consecutive failure. */
  minMs: number;
  maxMs: number;
  /** Retries per second over all keys, and the burst. */
  perSecond: number;
  burst: number;
}

export const DEFAULT_RATE_LIMITS: RateLimits = { minMs: 5, maxMs: 1_000_000, perSecond: 10, burst: 100 };

export interface RateLimiter {
  /** Counts a failure and returns the delay in milliseconds. */
  when(key: string): number;
  /** Resets the key after a success. */
  forget(key: string): void;
}

/** `now` is a monotonic clock in milliseconds. */
export function createRateLimiter(limits: RateLimits, now: () => number): RateLimiter {
  const failures = new Map<string, number>();
  let tokens = limits.burst;
  let filledAt = now();

  // Tokens may become negative: each debt reserves a later slot, so retries spread out and none is dropped.
  const reserve = (): number => {
    const time = now();
    tokens = Math.min(limits.burst, tokens + ((time - filledAt) / 1000) * limits.perSecond);
    filledAt = time;
    tokens -= 1;
    return tokens >= 0 ? 0 : (-tokens / limits.perSecond) * 1000;
  };
  return {
    when(key) {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      return Math.max(Math.min(limits.maxMs, limits.minMs * 2 ** Math.min(count, 30)), reserve());
    },
    forget: (key) => void failures.delete(key),
  };
}
