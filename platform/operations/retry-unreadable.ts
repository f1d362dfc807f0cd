// Handles changes whose audit events need caches that cannot always be read.
import type { Logger } from "pino";
import { isUnreadable } from "../../kube/cache/errors.ts";
import type { SeenChange } from "./recent-changes.ts";

/** Milliseconds between two tries to read what an event needs. */
const RETRY_MS = 1_000;
/** Tries for one change. */
const MAX_TRIES = 60;
/** Changes that wait for a cache that cannot be read. The oldest give way, and are counted in the log. */
const MAX_WAITING = 1_000;

/** Tries again while a cache cannot be read; any other error is logged, and ends nothing. */
export function retryUnreadable(
  log: Logger,
  act: (seen: SeenChange) => void,
  retryMs = RETRY_MS,
): { handle: (seen: SeenChange) => void; stop: () => void } {
  let waiting: { seen: SeenChange; tries: number }[] = [];
  let dropped = 0;
  const attempt = (seen: SeenChange, tries: number): void => {
    try {
      act(seen);
    } catch (err) {
      if (isUnreadable(err) && tries < MAX_TRIES) {
        waiting.push({ seen, tries: tries + 1 });
        if (waiting.length > MAX_WAITING && waiting.shift()) dropped++;
        return;
      }
      const { kind, metadata } = seen.change.object;
      log.error(
        { err, kind, namespace: metadata.namespace, name: metadata.name },
        isUnreadable(err)
          ? "no audit event: what it needs could not be read for a minute"
          : "no audit event: the change was not understood",
      );
    }
  };
  const timer = setInterval(() => {
    const due = waiting;
    waiting = [];
    for (const { seen, tries } of due) attempt(seen, tries);
    if (dropped > 0)
      log.error({ dropped }, "no audit events: too many changes waited for what cannot be read; the oldest gave way");
    dropped = 0;
  }, retryMs).unref();
  return { handle: (seen) => attempt(seen, 0), stop: () => clearInterval(timer) };
}
