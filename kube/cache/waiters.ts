// Callers that wait for a condition on changing state, each with a deadline. Checked on every change, never polled.

export interface Waiters {
  /** True as soon as `met` is, false at the deadline or when closed. */
  wait(met: () => boolean, deadlineMs: number): Promise<boolean>;
  /** The state has changed: look again. */
  check(): void;
  /** Answers everybody with false. */
  close(): void;
}

export function createWaiters(): Waiters {
  const waiting = new Set<{ met: () => boolean; settle: (met: boolean) => void }>();
  return {
    wait(met, deadlineMs) {
      if (met()) return Promise.resolve(true);
      return new Promise((resolve) => {
        const entry = {
          met,
          settle(answer: boolean) {
            clearTimeout(timer);
            waiting.delete(entry);
            resolve(answer);
          },
        };
        const timer = setTimeout(() => entry.settle(false), deadlineMs);
        waiting.add(entry);
      });
    },
    check() {
      for (const entry of waiting) if (entry.met()) entry.settle(true);
    },
    close() {
      for (const entry of waiting) entry.settle(false);
    },
  };
}
