// Tells when watches park or resume, namespaces of them included.
import type { Store, WatchState } from "./reader.ts";

/** Many watches lose or regain sight together. */
const SIGHT_SETTLE_MS = 50;

/**
 * Calls when anything comes out of sight (so that whoever reads it says so) or back (so that they go on). Whatever cannot be seen may concern any
 * object, so nothing more is told. Returns how to stop.
 */
export function whenSightChanges(stores: readonly Store[], changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const stops = stores.map((store) => {
    const hasChanged = followBlind(store);
    return store.onState((state, namespace) => {
      if (!hasChanged(state, namespace)) return;
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

/** All of it, where that cannot be seen. */
const WHOLE = "";

/** Keeps what of the store cannot be seen; the answer, to be asked for with every change of state, says whether something went or came back. */
function followBlind(store: Store): (told: WatchState, namespace: string | undefined) => boolean {
  let blind = new Set(store.synced ? store.holes : [WHOLE]);
  const lookAt = (told: WatchState, namespace: string): boolean => {
    const { state, synced } = store.sightOf(namespace);
    // Reads over all namespaces do without one that is no longer watched.
    if (state !== "parked") return (synced || told === "stopped") && blind.delete(namespace);
    const isNew = !blind.has(namespace);
    blind.add(namespace);
    return isNew;
  };
  const lookAtAll = (): boolean => {
    const { state, synced } = store.sightOf(undefined);
    if (!synced && state !== "parked") return false;
    const before = blind;
    blind = new Set(synced ? store.holes : [WHOLE]);
    return before.symmetricDifference(blind).size > 0;
  };
  // What could not be seen at all may come back namespace by namespace.
  return (told, namespace) => (namespace === undefined || blind.has(WHOLE) ? lookAtAll() : lookAt(told, namespace));
}
