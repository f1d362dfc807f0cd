// How soon a failed key may be tried again: its own growing delay, or a shared bucket's if that is longer.

export interface RateLimits {
  /** First delay of a key; doubles with each failure in a row. */
  minMs: number;
  maxMs: number;
  /** Retries a second over all keys, and how many may come at once. */
  perSecond: number;
  burst: number;
}

export const DEFAULT_RATE_LIMITS: RateLimits = { minMs: 5, maxMs: 1_000_000, perSecond: 10, burst: 100 };

export interface RateLimiter {
  /** Counts a failure and says how many milliseconds to wait. */
  when(key: string): number;
  /** The key has succeeded. */
  forget(key: string): void;
}

/** `now` is a monotonic clock in milliseconds. */
export function createRateLimiter(limits: RateLimits, now: () => number): RateLimiter {
  const failures = new Map<string, number>();
  let tokens = limits.burst;
  let filledAt = now();

  // Tokens may go below zero: each debt is a place in the future, so retries are spread and none is refused.
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
