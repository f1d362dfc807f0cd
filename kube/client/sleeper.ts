// A sleep that can be interrupted.

/** `interrupt` or an aborted signal ends the sleep early. Never rejects. */
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
