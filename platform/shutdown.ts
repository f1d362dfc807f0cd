// Ends a process of the platform at a signal: once, cleanly, and within a deadline.

/** Milliseconds from the signal to the end, at most. terminationGracePeriodSeconds of the pod must be longer. */
export const SHUTDOWN_TIMEOUT_MS = 55_000;

export interface Shutdown {
  /** Aborted by the first `trigger`. */
  readonly signal: AbortSignal;
  /** Called at a signal, and again by a start that finished meanwhile. A second call waits for the first one. */
  trigger(): Promise<void>;
}

/** `stop` returns undefined as long as nothing has started; then only `signal` gives up the start. `exit` ends the process. */
export function createShutdown({
  stop,
  exit,
}: {
  stop: () => Promise<void> | undefined;
  exit: (code: number) => void;
}): Shutdown {
  const abort = new AbortController();
  let stopping: Promise<void> | undefined;
  return {
    signal: abort.signal,
    async trigger() {
      if (!abort.signal.aborted) setTimeout(() => exit(1), SHUTDOWN_TIMEOUT_MS).unref();
      abort.abort(new Error("told to stop before it was ready"));
      stopping ??= stop();
      await stopping;
      if (stopping) exit(0);
    },
  };
}
