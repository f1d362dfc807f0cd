// Trying again until something is acknowledged: what a patient client does, whatever happens to the platform meanwhile.
import { setTimeout as delay } from "node:timers/promises";

/** Not acknowledged, for a reason that may pass. */
export class RetryableError extends Error {}

/** The platform did what it must not, however often one asks. */
export class PermanentError extends Error {}

/** Far above what a quiet machine needs: what is lost never comes, however long one waits. */
const DEADLINE_MS = 120_000;

/** Resolves with what the first attempt says that does not throw. @throws PermanentError at once; Error with the last reason after the deadline */
export async function retryUntilAcknowledged<T>(what: string, attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + DEADLINE_MS;
  for (let pause = 25; ; pause = Math.min(pause * 1.6, 400)) {
    try {
      return await attempt();
    } catch (cause) {
      if (cause instanceof PermanentError) throw cause;
      if (Date.now() > deadline)
        throw new Error(
          `${what}: not acknowledged within ${DEADLINE_MS / 1000} s: ${cause instanceof Error ? cause.message : String(cause)}`,
          { cause },
        );
    }
    await delay(pause);
  }
}
