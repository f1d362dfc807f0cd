// Callers that wait for a condition, each with a deadline. Checked on every change, never polled.

export interface Waiters {
  /** Resolves to true when `condition` holds, to false at the deadline or on `close`. */
  wait(condition: () => boolean, deadlineMs: number): Promise<boolean>;
  /** Checks all conditions, after a change. */
  checkAll(): void;
  /** Resolves all waiters with false. */
  close(): void;
}

export function createWaiters(): Waiters {
  const entries = new Set<{ met: () => boolean; settle: (met: boolean) => void }>();
  return {
    wait(met, deadlineMs) {
      if (met()) return Promise.resolve(true);
      return new Promise((resolve) => {
        const entry = {
          met,
          settle(answer: boolean) {
            clearTimeout(timer);
            entries.delete(entry);
            resolve(answer);
          },
        };
        const timer = setTimeout(() => entry.settle(false), deadlineMs);
        entries.add(entry);
      });
    },
    checkAll() {
      for (const entry of entries) if (entry.met()) entry.settle(true);
    },
    close() {
      for (const entry of entries) entry.settle(false);
    },
  };
}
