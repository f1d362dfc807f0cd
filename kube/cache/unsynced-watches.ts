// What cannot be read now, for whoever shows it: watches that are not synced, and namespaces of them that are out of sight.
import type { ParkReason, Store, WatchState } from "./reader.ts";
import { resourceId } from "../api/resource-ref.ts";

/** A watch that is not synced. `parkReason` when it waits for a right or a kind. */
export interface UnsyncedWatch {
  resource: string;
  /** When only that one is out of sight. */
  namespace?: string;
  state: WatchState;
  parkReason?: ParkReason;
}

/** A controller, and what it cannot read. */
export interface UnsyncedController {
  controller: string;
  watches: UnsyncedWatch[];
}

/** Those of the stores that cannot be read now. */
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

/** Asked many times a minute by whoever shows it, so `look` is called again only after one of the stores has changed its state: the very same answer until then. */
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
