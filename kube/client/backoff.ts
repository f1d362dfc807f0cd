// Exponential backoff with jitter.

export interface Backoff {
  minMs: number;
  maxMs: number;
  /** Share of the delay added at random: 1 spreads a delay of d over d to 2d. */
  jitter: number;
}

/** The delay after `failures` failures in a row (1 or more). `random` is in [0, 1). */
export function backoffDelay(backoff: Backoff, failures: number, random: number): number {
  // 2^30 exceeds every cap; larger exponents would overflow to Infinity.
  const delay = Math.min(backoff.maxMs, backoff.minMs * 2 ** Math.min(Math.max(failures, 1) - 1, 30));
  return delay * (1 + backoff.jitter * random);
}
