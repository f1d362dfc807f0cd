// Notifies when watches, or single namespaces of them, park or resume.
import type { Store, WatchState } from "./reader.ts";

/** Watches usually park or resume together. */
const DEBOUNCE_MS = 50;

/**
 * Calls `listener` when something becomes unreadable, so that conditions can report it, or readable again. Any object may depend on
 * it, so the call carries no detail. Returns the unsubscribe function.
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

/** Stands for all namespaces of an unreadable store. */
const ALL_NAMESPACES = "";

/** Tracks the unreadable namespaces of a store. Call the result for every state change; it returns whether the set changed. */
function trackUnreadable(store: Store): (newState: WatchState, namespace: string | undefined) => boolean {
  let unreadable = new Set(store.synced ? store.parkedNamespaces : [ALL_NAMESPACES]);
  const updateNamespace = (newState: WatchState, namespace: string): boolean => {
    const { state, synced } = store.syncStatusOf(namespace);
    // Reads over all namespaces skip a namespace that is no longer watched.
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
  // A store that was unreadable as a whole may resume namespace by namespace.
  return (newState, namespace) =>
    namespace === undefined || unreadable.has(ALL_NAMESPACES) ? updateAll() : updateNamespace(newState, namespace);
}
