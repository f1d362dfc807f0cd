// Tombstones of objects whose watch is parked: identity and index values, no content.
import { keyOf, type KubeObject } from "../api/object.ts";
import { createValueIndex, type ValueIndex } from "./value-index.ts";

/** Values of an object by index name. */
export type IndexedValues = ReadonlyMap<string, readonly string[]>;

export class Tombstones {
  readonly #tombstones = new Map<string, { object: KubeObject; filed: IndexedValues }>();
  readonly #indexes = new Map<string, ValueIndex>();
  readonly #namespaces = createValueIndex();
  /** Namespaces by uid. */
  readonly #uids = new Map<string, string>();

  add({ apiVersion, kind, metadata }: KubeObject, indexedValues: IndexedValues): void {
    const { name, namespace, uid, resourceVersion } = metadata;
    const kept = {
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    };
    const key = keyOf(metadata);
    this.#tombstones.set(key, { object: { apiVersion, kind, metadata: kept }, filed: indexedValues });
    this.#namespaces.update(key, [], [namespace ?? ""]);
    if (uid) this.#uids.set(uid, namespace ?? "");
    for (const [index, values] of indexedValues) {
      const known = this.#indexes.get(index) ?? createValueIndex();
      this.#indexes.set(index, known);
      known.update(key, [], values);
    }
  }

  /** Removes and returns the tombstone. */
  take(key: string): KubeObject | undefined {
    const tombstone = this.#tombstones.get(key);
    if (!tombstone) return undefined;
    this.#tombstones.delete(key);
    this.#namespaces.update(key, [tombstone.object.metadata.namespace ?? ""], []);
    this.#uids.delete(tombstone.object.metadata.uid ?? "");
    for (const [index, values] of tombstone.filed) this.#indexes.get(index)?.update(key, values, []);
    return tombstone.object;
  }

  /** The namespace of a tombstone with that index value. */
  namespaceByIndex(index: string, value: string): string | undefined {
    for (const key of this.#indexes.get(index)?.keys(value) ?? [])
      return this.#tombstones.get(key)?.object.metadata.namespace ?? "";
    return undefined;
  }

  /** The namespace of the tombstone with that uid. */
  namespaceByUid(uid: string): string | undefined {
    return this.#uids.get(uid);
  }

  /** Keys of one namespace, or of all. */
  keys(namespace?: string): string[] {
    return [...(namespace === undefined ? this.#tombstones.keys() : this.#namespaces.keys(namespace))];
  }
}
