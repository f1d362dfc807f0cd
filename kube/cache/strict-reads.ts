// Reads of a store that throw rather than answer "empty" without having seen: each asks first whether what it reads is in sight.
import type { Contents } from "./store-contents.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../api/object.ts";
import { labelIndex } from "./object-table.ts";
import { type ListFilter, NotInCache, NotPermitted } from "./reader.ts";
import { resourceId, type ResourceRef } from "../api/resource-ref.ts";
import type { Sights } from "./scoped/sync-status-table.ts";

/** As described in Reader and Store. */
export abstract class StrictReads<T extends KubeObject> {
  abstract readonly ref: ResourceRef<T>;
  readonly #contents: Contents<T>;
  readonly #sights: Sights;

  constructor(contents: Contents<T>, sights: Sights) {
    this.#contents = contents;
    this.#sights = sights;
  }

  find(key: ObjectKey): T | undefined {
    this.#sights.require(key.namespace ?? "");
    return this.#contents.table.objects.get(keyOf(key));
  }

  get(key: ObjectKey): T {
    const object = this.find(key);
    if (!object) throw new NotInCache(resourceId(this.ref), key);
    return object;
  }

  getMany(keys: readonly ObjectKey[]): T[] {
    this.#sights.requireSome();
    for (const { namespace } of keys) this.#sights.require(namespace ?? "");
    return this.#contents.table.pick(keys.map((key) => keyOf(key)));
  }

  list(filter: ListFilter = {}): T[] {
    const isPartial = filter.partial === true && filter.namespace === undefined;
    if (isPartial) this.#sights.requireSome();
    else this.#sights.require(filter.namespace);
    const [label] = isPartial ? Object.entries(filter.labels ?? {}) : [];
    if (label) this.#refuseGhost(this.#contents.ghosts.whoBears(labelIndex(label[0]), label[1]));
    return this.#contents.table.list(filter);
  }

  byIndex(index: string, value: string, namespace?: string): T[] {
    if (namespace !== undefined) {
      this.#sights.require(namespace);
      return this.#contents.table.byIndex(index, value).filter(({ metadata }) => metadata.namespace === namespace);
    }
    this.#sights.requireSome();
    this.#refuseGhost(this.#contents.ghosts.whoBears(index, value));
    const found = this.#contents.table.byIndex(index, value);
    if (found.length === 0) this.#sights.requireListed();
    return found;
  }

  byUid(uid: string): T | undefined {
    this.#sights.requireSome();
    this.#refuseGhost(this.#contents.ghosts.whereIs(uid));
    const found = this.#contents.table.byUid(uid);
    if (!found) this.#sights.requireListed();
    return found;
  }

  get size(): number {
    this.#sights.requireSome();
    return this.#contents.table.objects.size;
  }

  /** What stood there is out of sight, not gone. */
  #refuseGhost(namespace: string | undefined): void {
    if (namespace !== undefined) throw new NotPermitted(resourceId(this.ref), this.#sights.sightOf(namespace).parkReason ?? "Forbidden", namespace);
  }
}
