// Events are kept for an hour.
import type { Core } from "../registry/core.ts";

const KEPT_MS = 3_600_000;
const EVERY_MS = 300_000;

/** Returns the function that ends it. */
export function expireEvents(core: Core, onError: (error: unknown) => void): () => void {
  const timer = setInterval(() => {
    try {
      removeOld(core);
    } catch (error) {
      onError(error);
    }
  }, EVERY_MS).unref();
  return () => clearInterval(timer);
}

function removeOld(core: Core): void {
  const oldest = core.now() - KEPT_MS;
  for (const event of core.store.table("/events").list()) {
    if (Date.parse(String(event.lastTimestamp ?? event.metadata.creationTimestamp)) < oldest)
      core.store.remove("/events", event);
  }
}
