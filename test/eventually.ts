// Waits for a condition with a deadline, and reports its last failure.
import { setTimeout as delay } from "node:timers/promises";

/** Tries until `check` does not throw. @throws its last error, with how long it was waited for */
export async function eventually<T>(check: () => Promise<T> | T, deadlineMs = 30_000): Promise<T> {
  const deadline = Date.now() + deadlineMs;
  for (let pause = 20; ; pause = Math.min(pause * 1.5, 500)) {
    try {
      return await check();
    } catch (cause) {
      if (Date.now() > deadline)
        throw new Error(
          `not within ${deadlineMs / 1000} s: ${cause instanceof Error ? cause.message : String(cause)}`,
          { cause },
        );
    }
    await delay(pause);
  }
}
