// Tells when watches park or resume, namespaces of them included.
import type { Store } from "./reader.ts";

/** Many watches lose or regain sight together. */
const SIGHT_SETTLE_MS = 50;

/**
 * Calls when anything comes out of sight (so that whoever reads it says so) or back (so that they go on). Whatever cannot be seen may concern any
 * object, so nothing more is told. Returns how to stop.
 */
export function whenSightChanges(stores: readonly Store[], changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const stops = stores.map((store) => {
    const blind = new Set(store.holes);
    return store.onState((_state, namespace) => {
      const { state, synced } = store.sightOf(namespace);
      const at = namespace ?? "";
      if (state === "parked" ? blind.has(at) : !synced || !blind.has(at)) return;
      if (state === "parked") blind.add(at);
      else blind.delete(at);
      timer ??= setTimeout(() => {
        timer = undefined;
        changed();
      }, SIGHT_SETTLE_MS);
    });
  });
  return () => {
    clearTimeout(timer);
    for (const stop of stops) stop();
  };
}
