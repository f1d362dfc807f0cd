// Reads of a store that check readability first, instead of answering "empty" from an unreadable cache.
import type { StoreContents } from "./store-contents.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../api/object.ts";
import { labelIndex } from "./object-table.ts";
import type { ListFilter } from "./reader.ts";
import { NotInCache, NotPermitted } from "./errors.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import type { SyncStatusTable } from "./scoped/sync-status-table.ts";

/** See Reader and Store. */
export abstract class StrictReads<T extends KubeObject> {
  abstract readonly ref: ResourceRef<T>;
  readonly #contents: StoreContents<T>;
  readonly #syncStatuses: SyncStatusTable;

  constructor(contents: StoreContents<T>, syncStatuses: SyncStatusTable) {
    this.#contents = contents;
    this.#syncStatuses = syncStatuses;
  }

  find(key: ObjectKey): T | undefined {
    this.#syncStatuses.requireReadable(key.namespace ?? "");
    return this.#contents.table.objects.get(keyOf(key));
  }

  get(key: ObjectKey): T {
    const object = this.find(key);
    if (!object) throw new NotInCache(resourceId(this.ref), key);
    return object;
  }

  getMany(keys: readonly ObjectKey[]): T[] {
    this.#syncStatuses.requireAnyReadable();
    for (const { namespace } of keys) this.#syncStatuses.requireReadable(namespace ?? "");
    return this.#contents.table.listByKeys(keys.map((key) => keyOf(key)));
  }

  list(filter: ListFilter = {}): T[] {
    const isPartial = filter.partial === true && filter.namespace === undefined;
    if (isPartial) this.#syncStatuses.requireAnyReadable();
    else this.#syncStatuses.requireReadable(filter.namespace);
    const [label] = isPartial ? Object.entries(filter.labels ?? {}) : [];
    if (label) this.#refuseTombstone(this.#contents.tombstones.namespaceByIndex(labelIndex(label[0]), label[1]));
    return this.#contents.table.list(filter);
  }

  byIndex(index: string, value: string, namespace?: string): T[] {
    if (namespace !== undefined) {
      this.#syncStatuses.requireReadable(namespace);
      return this.#contents.table.byIndex(index, value).filter(({ metadata }) => metadata.namespace === namespace);
    }
    this.#syncStatuses.requireAnyReadable();
    this.#refuseTombstone(this.#contents.tombstones.namespaceByIndex(index, value));
    const found = this.#contents.table.byIndex(index, value);
    if (found.length === 0) this.#syncStatuses.requireNonePending();
    return found;
  }

  byUid(uid: string): T | undefined {
    this.#syncStatuses.requireAnyReadable();
    this.#refuseTombstone(this.#contents.tombstones.namespaceByUid(uid));
    const found = this.#contents.table.byUid(uid);
    if (!found) this.#syncStatuses.requireNonePending();
    return found;
  }

  get size(): number {
    this.#syncStatuses.requireAnyReadable();
    return this.#contents.table.objects.size;
  }

  /** @throws NotPermitted when a tombstone shows that an evicted object may still exist */
  #refuseTombstone(namespace: string | undefined): void {
    if (namespace !== undefined)
      throw new NotPermitted(
        resourceId(this.ref),
        this.#syncStatuses.syncStatusOf(namespace).parkReason ?? "Forbidden",
        namespace,
      );
  }
}
