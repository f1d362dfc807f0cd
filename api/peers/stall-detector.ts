// Detects that this process stalled: its peers may then skip it without its knowledge.

export interface StallDetector {
  /** Starts or stops the timer. A replica without peers needs none. */
  setEnabled(on: boolean): void;
  /** Checks now. Call it before a reply: after a stall, pending requests may be read before any timer runs. */
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
