// Waiting: delays that grow with failures in a row, sleep that can be cut short, and a signal's end.

export interface Backoff {
  minMs: number;
  maxMs: number;
  /** Share of the delay added at random: 1 spreads a delay of d over d to 2d. */
  jitter: number;
}

/** The delay after `failures` failures in a row (1 or more). `random` is in [0, 1). */
export function backoffDelay(backoff: Backoff, failures: number, random: number): number {
  // 2^30 is beyond any cap; larger exponents would overflow to Infinity for nothing.
  const delay = Math.min(backoff.maxMs, backoff.minMs * 2 ** Math.min(Math.max(failures, 1) - 1, 30));
  return delay * (1 + backoff.jitter * random);
}

/** A sleep that a signal or `wake` ends early. Never rejects. */
export interface Sleeper {
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
  interrupt(): void;
}

export function createSleeper(): Sleeper {
  let interruptSleep: (() => void) | undefined;
  return {
    sleep(milliseconds, signal) {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const finish = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", finish);
          interruptSleep = undefined;
          resolve();
        };
        const timer = setTimeout(finish, milliseconds);
        signal.addEventListener("abort", finish);
        interruptSleep = finish;
      });
    },
    interrupt: () => interruptSleep?.(),
  };
}

/** Resolves when the signal is aborted; at once when it is. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
