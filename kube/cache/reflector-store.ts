// The write side of a store, or of one namespace of it, as a reflector uses it.
import type { KubeObject } from "../api/object.ts";
import type { ParkReason, WatchState } from "./reader.ts";
import type { ResourceRef } from "../api/resource-ref.ts";

/** Calls are synchronous and in order. */
export interface ReflectorStore<T extends KubeObject = KubeObject> {
  readonly ref: ResourceRef<T>;
  readonly synced: boolean;
  readonly state: WatchState;
  setState(state: WatchState, parkReason?: ParkReason): void;
  /** Replaces all contents and emits every difference, deletions included. */
  replace(objects: readonly T[], resourceVersion: string): void;
  upsert(object: T): void;
  remove(object: T): void;
  /** The version was observed, perhaps without a change here. */
  observeVersion(resourceVersion: string | undefined): void;
}
