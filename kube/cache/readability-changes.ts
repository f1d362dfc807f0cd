// Tells when watches park or resume, namespaces of them included.
import type { Store, WatchState } from "./reader.ts";

/** Many watches lose or regain sight together. */
const DEBOUNCE_MS = 50;

/**
 * Calls when anything comes out of sight (so that whoever reads it says so) or back (so that they go on). Whatever cannot be seen may concern any
 * object, so nothing more is told. Returns how to stop.
 */
export function onReadabilityChange(stores: readonly Store[], listener: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const stops = stores.map((store) => {
    const hasChanged = trackUnreadable(store);
    return store.onStateChange((state, namespace) => {
      if (!hasChanged(state, namespace)) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        listener();
      }, DEBOUNCE_MS);
    });
  });
  return () => {
    clearTimeout(timer);
    for (const stop of stops) stop();
  };
}

/** All of it, where that cannot be seen. */
const ALL_NAMESPACES = "";

/** Keeps what of the store cannot be seen; the answer, to be asked for with every change of state, says whether something went or came back. */
function trackUnreadable(store: Store): (newState: WatchState, namespace: string | undefined) => boolean {
  let unreadable = new Set(store.synced ? store.parkedNamespaces : [ALL_NAMESPACES]);
  const updateNamespace = (newState: WatchState, namespace: string): boolean => {
    const { state, synced } = store.syncStatusOf(namespace);
    // Reads over all namespaces do without one that is no longer watched.
    if (state !== "parked") return (synced || newState === "stopped") && unreadable.delete(namespace);
    const isNew = !unreadable.has(namespace);
    unreadable.add(namespace);
    return isNew;
  };
  const updateAll = (): boolean => {
    const { state, synced } = store.syncStatusOf(undefined);
    if (!synced && state !== "parked") return false;
    const before = unreadable;
    unreadable = new Set(synced ? store.parkedNamespaces : [ALL_NAMESPACES]);
    return before.symmetricDifference(unreadable).size > 0;
  };
  // What could not be seen at all may come back namespace by namespace.
  return (newState, namespace) =>
    namespace === undefined || unreadable.has(ALL_NAMESPACES) ? updateAll() : updateNamespace(newState, namespace);
}
