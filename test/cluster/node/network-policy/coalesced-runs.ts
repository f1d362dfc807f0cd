// Runs an action after changes: once for those that come together, never twice at a time, and again for those that come while it runs.

interface CoalescedRunsOptions {
  settleMs: number;
  /** How long after a failure the action runs again. */
  retryMs: number;
  onError(error: unknown): void;
}

/** Returns the function that tells of a change. */
export function coalesceRuns(
  run: () => Promise<void>,
  { settleMs, retryMs, onError }: CoalescedRunsOptions,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const schedule = (ms: number): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      running = running.then(run).catch((error: unknown) => {
        onError(error);
        schedule(retryMs);
      });
    }, ms);
  };
  return () => schedule(settleMs);
}
