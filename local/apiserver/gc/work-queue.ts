// A queue of keys for the server's own cleaning: each key once, one after the other, again after a failure.
export interface WorkQueue {
  add(key: string): void;
  stop(): void;
}

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 30_000;

/** @param onError called for each failure; the key is retried with backoff. */
export function createWorkQueue(work: (key: string) => Promise<void>, onError: (error: unknown) => void): WorkQueue {
  const waiting = new Set<string>();
  const failures = new Map<string, number>();
  const timers = new Set<NodeJS.Timeout>();
  let running = false;
  let stopped = false;

  function later(key: string): void {
    if (stopped) return;
    const count = (failures.get(key) ?? 0) + 1;
    failures.set(key, count);
    const timer = setTimeout(
      () => {
        timers.delete(timer);
        add(key);
      },
      Math.min(FIRST_RETRY_MS * 2 ** count, LONGEST_RETRY_MS),
    );
    timers.add(timer);
  }

  async function run(): Promise<void> {
    for (const key of waiting) {
      if (stopped) break;
      waiting.delete(key);
      try {
        await work(key);
        failures.delete(key);
      } catch (error) {
        onError(error);
        later(key);
      }
    }
    running = false;
  }

  function add(key: string): void {
    if (stopped) return;
    waiting.add(key);
    if (running) return;
    running = true;
    setImmediate(() => void run());
  }

  return {
    add,
    stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
