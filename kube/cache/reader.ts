// Cached reads: the interfaces of stores and readers, and the errors that stand between "not there" and "cannot see".
import type { KubeObject, ObjectKey } from "../api/object.ts";
import type { ResourceRef } from "../api/resource-ref.ts";

/** Why a watch is parked. It resumes by itself when the reason goes away. */
export type ParkReason = "Forbidden" | "Unauthorized" | "NoKind";
export type WatchState = "listing" | "watching" | "backoff" | "parked" | "stopped";

export interface ListFilter {
  namespace?: string;
  /** Equality only; served from the label index. */
  labels?: Readonly<Record<string, string>>;
  /**
   * Without `namespace`: leave out namespaces that cannot be seen, rather than throw. For those to whom absence means nothing. With `labels` it still
   * throws when an object with the first of them is known to be out of sight.
   */
  partial?: boolean;
}

/** Values under which an object is found; called once per change. Must be pure. */
export type IndexFunction<T> = (object: T) => readonly string[];

/**
 * Synchronous reads over all kinds that somebody ensured. Objects are shared and must not be changed.
 * Every method throws NotWatched, NotSynced or NotPermitted rather than answer "empty" without having seen.
 */
export interface Reader {
  find<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey): T | undefined;
  /** @throws NotInCache */
  get<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey): T;
  /** Those of the keys that exist, in the order of the keys. */
  getMany<T extends KubeObject>(ref: ResourceRef<T>, keys: readonly ObjectKey[]): T[];
  list<T extends KubeObject>(ref: ResourceRef<T>, filter?: ListFilter): T[];
  /**
   * With a namespace: what is filed there, which must be in sight. Without: what is filed anywhere in sight, so absence means little where namespaces
   * are out of sight; one that is known to be filed so and is out of sight throws. @throws Error when no such index was ensured.
   */
  byIndex<T extends KubeObject>(ref: ResourceRef<T>, index: string, value: string, namespace?: string): T[];
  byUid<T extends KubeObject>(ref: ResourceRef<T>, uid: string): T | undefined;
}

/**
 * `initial` marks what the first listing (or a relist) found, so that it can wait behind live changes. `old` is what the cache held;
 * with `evicted` (the watch was parked since) only its metadata's name, namespace, uid and resourceVersion, and so is a deletion's `object`. A deletion's object may be newer than `old`, and an object that stopped matching the watch's selector is "deleted" too.
 */
export type Change<T> =
  | { type: "added"; object: T; initial: boolean }
  | { type: "modified"; object: T; old: T; initial: boolean; evicted?: true }
  | { type: "deleted"; object: T; old: T; initial: boolean; evicted?: true };

/** How a namespace (or all of a kind) is seen. */
export interface SyncStatus {
  state: WatchState;
  parkReason?: ParkReason;
  /** Filled, and not parked. */
  synced: boolean;
}

/** The cache of one watch. Reads as in Reader. */
export interface Store<T extends KubeObject = KubeObject> {
  readonly ref: ResourceRef<T>;
  find(key: ObjectKey): T | undefined;
  get(key: ObjectKey): T;
  getMany(keys: readonly ObjectKey[]): T[];
  list(filter?: ListFilter): T[];
  byIndex(index: string, value: string, namespace?: string): T[];
  byUid(uid: string): T | undefined;
  /** Number of objects. */
  readonly size: number;
  /** True once the first list is in and while the watch is not parked. */
  readonly synced: boolean;
  readonly state: WatchState;
  readonly parkReason: ParkReason | undefined;
  /** Newest resourceVersion seen, bookmarks included; "" before the first list. Where namespaces are watched one by one: of any of them. */
  readonly resourceVersion: string;
  /** The version up to which this namespace has been seen. */
  resourceVersionIn(namespace: string | undefined): string;
  /** How one namespace is seen; differs from the whole only where namespaces are watched one by one. */
  syncStatusOf(namespace: string | undefined): SyncStatus;
  /** Namespaces that cannot be seen although others can, in order. */
  readonly parkedNamespaces: readonly string[];
  /** Adds an index to a running store; the same name twice is the same index, and the first function stays. */
  addIndex(name: string, of: IndexFunction<T>): void;
  /** True as soon as the cache (of that namespace, when given) has reached that version, false when deadlineMs passed first (or the watch is parked then). */
  waitForVersion(resourceVersion: string, deadlineMs: number, namespace?: string): Promise<boolean>;
  /** True as soon as that uid is gone from the cache or terminating in it. */
  waitDeleted(uid: string, deadlineMs: number): Promise<boolean>;
  /** True as soon as the store is synced. */
  waitSynced(deadlineMs: number): Promise<boolean>;
  /** Called synchronously, in order, after the cache has changed; must not throw. A late listener is not replayed: list first. Returns how to stop. */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** Called when the state changes (parking, resuming, first sync); with the namespace when it is that namespace's state, "stopped" when it is no longer watched. */
  onStateChange(listener: (state: WatchState, namespace?: string) => void): () => void;
}
