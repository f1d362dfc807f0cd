// Lets other work of this process run between the steps of a loop over foreign data.
import { setImmediate as nextTurn } from "node:timers/promises";

/** Longest time that such a loop keeps the event loop, when each step is short. */
const TURN_MS = 10;

/** A function to await after each step: it returns at once until the loop has run for some milliseconds, then waits for the event loop's next turn. */
export function createLoopBreaks(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < TURN_MS) return undefined;
    return nextTurn().then(() => void (since = performance.now()));
  };
}
