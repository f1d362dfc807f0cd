// Notices that this process stood still: then others may have given up telling it, and it does not know.

export interface StallWatch {
  /** Starts or stops watching. A process that nobody tells anything has no need to. */
  run(on: boolean): void;
  /** Looks now; to be called before an answer, since what waits in the sockets may be read before any timer runs. */
  check(): void;
  close(): void;
}

const tickMs = 100;

/** `onStall` is called when this process did not run for longer than `limitMs`. */
export function createStallWatch(limitMs: number, onStall: () => void, now: () => number = () => performance.now()): StallWatch {
  let last = now();
  let timer: NodeJS.Timeout | undefined;
  const check = (): void => {
    const since = now() - last;
    last = now();
    if (timer && since > limitMs) onStall();
  };
  return {
    check,
    run(on) {
      if (on === (timer !== undefined)) return;
      clearInterval(timer);
      last = now();
      timer = on ? setInterval(check, tickMs).unref() : undefined;
    },
    close() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
