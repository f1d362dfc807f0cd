// How long a reflector waits, and how often it tries again: back-off, parked watches, the lifetime of a watch.
import type { Backoff } from "../client/backoff.ts";

export interface ReflectorTiming {
  /** After consecutive failures. */
  backoff: Backoff;
  /** This long without a failure resets the count of consecutive failures. */
  healthyMs: number;
  /** Between attempts to resume a parked watch. */
  parked: Backoff;
  /** Bounds of a watch's lifetime in seconds, chosen at random. Opening a watch checks RBAC, so this bounds revocation. */
  watchSeconds: readonly [number, number];
  /** A watch that ends sooner, and without news, counts as a failure. */
  shortWatchMs: number;
  /** Silence after the watch's timeout that marks the peer dead. */
  graceMs: number;
}

export const REFLECTOR_TIMING: ReflectorTiming = {
  backoff: { minMs: 800, maxMs: 30_000, jitter: 1 },
  healthyMs: 120_000,
  parked: { minMs: 5_000, maxMs: 30_000, jitter: 1 },
  watchSeconds: [300, 600],
  shortWatchMs: 1_000,
  graceMs: 30_000,
};
