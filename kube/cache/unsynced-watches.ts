// What cannot be read now, for whoever shows it: watches that are not synced, and namespaces of them that are out of sight.
import type { ParkReason, Store, WatchState } from "./reader.ts";
import { resourceId } from "../api/resource-ref.ts";

/** A watch that is not synced. `parkReason` when it waits for a right or a kind. */
export interface WatchGap {
  resource: string;
  /** When only that one is out of sight. */
  namespace?: string;
  state: WatchState;
  parkReason?: ParkReason;
}

/** A controller, and what it cannot read. */
export interface Waiting {
  controller: string;
  watches: WatchGap[];
}

/** Those of the stores that cannot be read now. */
export function gapsOf(stores: readonly Store[]): WatchGap[] {
  return stores.flatMap((store) => {
    const resource = resourceId(store.ref);
    if (!store.synced) return [{ resource, state: store.state, ...(store.parkReason && { parkReason: store.parkReason }) }];
    return store.holes.map((namespace) => ({ resource, namespace, state: "parked" as const, parkReason: store.sightOf(namespace).parkReason ?? "Forbidden" }));
  });
}

/** Asked many times a minute by whoever shows it, so `look` is called again only after one of the stores has changed its state: the very same answer until then. */
export function untilSightChanges<T extends object>(stores: readonly Store[], look: () => T): { look: () => T; close: () => void } {
  let known: T | undefined;
  const forget = (): void => void (known = undefined);
  const stops = [...new Set(stores)].map((store) => store.onState(forget));
  return {
    look: () => (known ??= look()),
    close: () => {
      stops.forEach((stop) => stop());
      known = undefined;
    },
  };
}
