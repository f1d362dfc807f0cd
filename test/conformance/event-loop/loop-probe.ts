// Measures how long the event loop of this process is held at a time, in processor time of its thread: a busy machine changes nothing.

export interface LoopProbe {
  /** The longest block since the last call, milliseconds. */
  longest(): number;
  stop(): void;
}

/** Timers run once in each turn of the loop, so what the thread worked between two of them is at least one turn, and a millisecond more at most. */
export function startLoopProbe(): LoopProbe {
  let longest = 0;
  let before = workedMs();
  const timer = setInterval(() => {
    const now = workedMs();
    longest = Math.max(longest, now - before);
    before = now;
  }, 1);
  return {
    longest() {
      const found = longest;
      longest = 0;
      return found;
    },
    stop: () => clearInterval(timer),
  };
}

function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
