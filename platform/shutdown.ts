// How a process of the platform ends at a signal: once, cleanly, and in any case in time.

/** From the signal to the end, whatever happens, milliseconds. Kubernetes kills after terminationGracePeriodSeconds, which is to be longer. */
export const SHUTDOWN_TIMEOUT_MS = 55_000;

export interface Shutdown {
  /** Aborted by the first `end`. */
  readonly signal: AbortSignal;
  /** At a signal, and once more when the start was through before it heard of it. A second call waits for what the first one began. */
  trigger(): Promise<void>;
}

/** `stop` gives undefined as long as there is nothing to stop; then only `signal` says that the start is to be given up. `exit` ends the process. */
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
