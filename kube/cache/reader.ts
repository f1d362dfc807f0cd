// Interfaces of cached reads: Reader over all kinds, Store of one watch.
import type { KubeObject, ObjectKey } from "../api/object.ts";
import type { ResourceRef } from "../api/resource-ref.ts";

/** Why a watch is parked. It resumes by itself when the cause is gone. */
export type ParkReason = "Forbidden" | "Unauthorized" | "NoKind";
export type WatchState = "listing" | "watching" | "backoff" | "parked" | "stopped";

export interface ListFilter {
  namespace?: string;
  /** Equality only; served from the label index. */
  labels?: Readonly<Record<string, string>>;
  /**
   * Without `namespace`: skip unreadable namespaces instead of throwing. For callers that infer nothing from absence. With `labels` it
   * still throws when a tombstone with the first label exists.
   */
  partial?: boolean;
}

/** The index values of an object; called once per change. Must be pure. */
export type IndexFunction<T> = (object: T) => readonly string[];

/**
 * Synchronous reads over all ensured kinds. Objects are shared: do not mutate them.
 * Every method throws NotWatched, NotSynced or NotPermitted instead of answering "empty" from an unreadable cache.
 */
export interface Reader {
  find<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey): T | undefined;
  /** @throws NotInCache */
  get<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey): T;
  /** The objects that exist, in the order of the keys. */
  getMany<T extends KubeObject>(ref: ResourceRef<T>, keys: readonly ObjectKey[]): T[];
  list<T extends KubeObject>(ref: ResourceRef<T>, filter?: ListFilter): T[];
  /**
   * With a namespace: matches in that namespace, which must be readable. Without: matches in all readable namespaces, so absence proves
   * little while namespaces are unreadable; a matching tombstone throws. @throws Error for an unknown index
   */
  byIndex<T extends KubeObject>(ref: ResourceRef<T>, index: string, value: string, namespace?: string): T[];
  byUid<T extends KubeObject>(ref: ResourceRef<T>, uid: string): T | undefined;
}

/**
 * `initial` marks changes found by a list, so that they can queue behind live events. `old` is the cached object; with `evicted` (the
 * watch was parked since) `old`, and `object` of a deletion, are tombstones: name, namespace, uid and resourceVersion only. The `object`
 * of a deletion may be newer than `old`; an object that stopped matching the watch's selector is "deleted" too.
 */
export type Change<T> =
  | { type: "added"; object: T; initial: boolean }
  | { type: "modified"; object: T; old: T; initial: boolean; evicted?: true }
  | { type: "deleted"; object: T; old: T; initial: boolean; evicted?: true };

/** Readability of one namespace, or of a whole kind. */
export interface SyncStatus {
  state: WatchState;
  parkReason?: ParkReason;
  /** The first list is complete and the watch is not parked. */
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
  /** Whether the first list is complete and the watch is not parked. */
  readonly synced: boolean;
  readonly state: WatchState;
  readonly parkReason: ParkReason | undefined;
  /** Newest observed resourceVersion, bookmarks included; "" before the first list. For namespaces watched one by one: the newest of any. */
  readonly resourceVersion: string;
  /** Newest observed resourceVersion of one namespace. */
  resourceVersionIn(namespace: string | undefined): string;
  /** Sync status of one namespace; differs from the store's only when namespaces are watched one by one. */
  syncStatusOf(namespace: string | undefined): SyncStatus;
  /** Parked namespaces of a store whose other namespaces are readable, sorted. */
  readonly parkedNamespaces: readonly string[];
  /** Adds an index to a running store. A second call with the same name is ignored. */
  addIndex(name: string, of: IndexFunction<T>): void;
  /** Resolves to true when the cache, or that namespace of it, has reached the version; to false at the deadline or when the watch stops. */
  waitForVersion(resourceVersion: string, deadlineMs: number, namespace?: string): Promise<boolean>;
  /** Resolves to true when the uid is absent from the cache or terminating; to false at the deadline. */
  waitDeleted(uid: string, deadlineMs: number): Promise<boolean>;
  /** Resolves to true when the store is synced; to false at the deadline. */
  waitSynced(deadlineMs: number): Promise<boolean>;
  /** Calls `listener` synchronously and in order, after the cache has changed; it must not throw. Nothing is replayed: list first. Returns the unsubscribe function. */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** Calls `listener` when the state changes; with `namespace` when it is that namespace's state, "stopped" when it is no longer watched. */
  onStateChange(listener: (state: WatchState, namespace?: string) => void): () => void;
}
