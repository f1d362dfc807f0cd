// Notices that this process stood still: then others may have given up telling it, and it does not know.

export interface StallDetector {
  /** Starts or stops watching. A process that nobody tells anything has no need to. */
  setEnabled(on: boolean): void;
  /** Looks now; to be called before an answer, since what waits in the sockets may be read before any timer runs. */
  check(): void;
  close(): void;
}

const tickMs = 100;

/** `onStall` is called when this process did not run for longer than `limitMs`. */
export function createStallDetector(
  limitMs: number,
  onStall: () => void,
  now: () => number = () => performance.now(),
): StallDetector {
  let lastTick = now();
  let timer: NodeJS.Timeout | undefined;
  const check = (): void => {
    const since = now() - lastTick;
    lastTick = now();
    if (timer && since > limitMs) onStall();
  };
  return {
    check,
    setEnabled(on) {
      if (on === (timer !== undefined)) return;
      clearInterval(timer);
      lastTick = now();
      timer = on ? setInterval(check, tickMs).unref() : undefined;
    },
    close() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
