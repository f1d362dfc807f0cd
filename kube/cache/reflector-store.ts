// What a reflector writes to: a store, or one namespace of it.
import type { KubeObject } from "../api/object.ts";
import type { ParkReason, WatchState } from "./reader.ts";
import type { ResourceRef } from "../api/resource-ref.ts";

/** Feeding is synchronous and in order. */
export interface ReflectorStore<T extends KubeObject = KubeObject> {
  readonly ref: ResourceRef<T>;
  readonly synced: boolean;
  readonly state: WatchState;
  setState(state: WatchState, parkReason?: ParkReason): void;
  /** Replaces everything of this feed and tells what differs, deletions included. */
  replace(objects: readonly T[], resourceVersion: string): void;
  upsert(object: T): void;
  remove(object: T): void;
  /** The version is reached, although perhaps nothing changed here. */
  observeVersion(resourceVersion: string | undefined): void;
}
