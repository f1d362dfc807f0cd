// Repeats a read-modify-write that lost against another writer. CF's writers wait for a lock of their database instead.
import { setTimeout as sleep } from "node:timers/promises";
import { isConflict } from "../../kube/client/errors.ts";

/** Below the deadline of a request, 30 s, so that the client gets an answer. */
const GIVE_UP_AFTER_MS = 20_000;
const MAX_PAUSE_MS = 100;

/** Repeats `attempt`, after a random pause so that writers take turns; it gets the number of conflicts so far. @throws what `attempt` throws, a conflict after 20 s */
export async function retryOnConflict<T>(attempt: (conflicts: number) => Promise<T>, signal: AbortSignal): Promise<T> {
  const deadline = performance.now() + GIVE_UP_AFTER_MS;
  for (let conflicts = 0; ; conflicts++) {
    try {
      return await attempt(conflicts);
    } catch (error) {
      if (!isConflict(error) || performance.now() > deadline) throw error;
    }
    await sleep(Math.random() * Math.min(MAX_PAUSE_MS, 5 * 2 ** conflicts), undefined, { signal });
  }
}
