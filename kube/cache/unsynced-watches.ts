// Watches that cannot be read now, for readiness and status.
import type { ParkReason, Store, WatchState } from "./reader.ts";
import { resourceId } from "../api/resource-ref.ts";

/** A watch that is not synced. `parkReason` is set while it is parked. */
export interface UnsyncedWatch {
  resource: string;
  /** Set when only this namespace is parked. */
  namespace?: string;
  state: WatchState;
  parkReason?: ParkReason;
}

/** A controller with its unreadable watches. */
export interface UnsyncedController {
  controller: string;
  watches: UnsyncedWatch[];
}

/** The unreadable watches of the stores. */
export function listUnsyncedWatches(stores: readonly Store[]): UnsyncedWatch[] {
  return stores.flatMap((store) => {
    const resource = resourceId(store.ref);
    if (!store.synced)
      return [{ resource, state: store.state, ...(store.parkReason && { parkReason: store.parkReason }) }];
    return store.parkedNamespaces.map((namespace) => ({
      resource,
      namespace,
      state: "parked" as const,
      parkReason: store.syncStatusOf(namespace).parkReason ?? "Forbidden",
    }));
  });
}

/** Caches `compute` until one of the stores changes its state; callers ask many times a minute. */
export function cacheUntilStateChange<T extends object>(
  stores: readonly Store[],
  compute: () => T,
): { compute: () => T; close: () => void } {
  let cached: T | undefined;
  const invalidate = (): void => void (cached = undefined);
  const stops = [...new Set(stores)].map((store) => store.onStateChange(invalidate));
  return {
    compute: () => (cached ??= compute()),
    close: () => {
      stops.forEach((stop) => stop());
      cached = undefined;
    },
  };
}
