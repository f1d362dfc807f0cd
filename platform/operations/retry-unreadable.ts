// Handles changes whose audit events need caches that cannot always be read.
import type { Logger } from "pino";
import { isUnreadable } from "../../kube/cache/errors.ts";
import type { SeenChange } from "./recent-changes.ts";

/** Milliseconds between two tries to read what an event needs. */
const RETRY_MS = 1_000;
/** Tries for one change. */
const MAX_TRIES = 60;
/** Changes that wait for a cache that cannot be read. The oldest give way. */
const MAX_WAITING = 1_000;

/** Tries again while a cache cannot be read; any other error is logged, and ends nothing. */
export function retryUnreadable(
  log: Logger,
  act: (seen: SeenChange) => void,
  retryMs = RETRY_MS,
): { handle: (seen: SeenChange) => void; stop: () => void } {
  let waiting: { seen: SeenChange; tries: number }[] = [];
  const attempt = (seen: SeenChange, tries: number): void => {
    try {
      act(seen);
    } catch (err) {
      if (isUnreadable(err) && tries < MAX_TRIES) {
        waiting = [...waiting, { seen, tries: tries + 1 }].slice(-MAX_WAITING);
        return;
      }
      const { kind, metadata } = seen.change.object;
      log.error(
        { err, kind, namespace: metadata.namespace, name: metadata.name },
        "no audit event: the change was not understood",
      );
    }
  };
  const timer = setInterval(() => {
    const due = waiting;
    waiting = [];
    for (const { seen, tries } of due) attempt(seen, tries);
  }, retryMs).unref();
  return { handle: (seen) => attempt(seen, 0), stop: () => clearInterval(timer) };
}
