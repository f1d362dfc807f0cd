// How a process of the platform ends at a signal: once, cleanly, and in any case in time.

/** From the signal to the end, whatever happens, milliseconds. Kubernetes kills after terminationGracePeriodSeconds, which is to be longer. */
export const STOP_MS = 55_000;

export interface Ending {
  /** Aborted by the first `end`. */
  readonly signal: AbortSignal;
  /** At a signal, and once more when the start was through before it heard of it. A second call waits for what the first one began. */
  end(): Promise<void>;
}

/** `stop` gives undefined as long as there is nothing to stop; then only `signal` says that the start is to be given up. `exit` ends the process. */
export function createEnding({ stop, exit }: { stop: () => Promise<void> | undefined; exit: (code: number) => void }): Ending {
  const halt = new AbortController();
  let stopping: Promise<void> | undefined;
  return {
    signal: halt.signal,
    async end() {
      if (!halt.signal.aborted) setTimeout(() => exit(1), STOP_MS).unref();
      halt.abort(new Error("told to stop before it was ready"));
      stopping ??= stop();
      await stopping;
      if (stopping) exit(0);
    },
  };
}
