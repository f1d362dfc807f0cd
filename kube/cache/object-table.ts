// Objects of one kind by key, uid and index. No events, no watch state.
import { keyOf, type KubeObject } from "../api/object.ts";
import type { IndexFunction, ListFilter } from "./reader.ts";
import { createValueIndex, type ValueIndex } from "./value-index.ts";

interface Index<T> {
  indexFunction: IndexFunction<T>;
  values: ValueIndex;
}

const NAMESPACE = "kube/namespace";

/** Name of the index by a label's value. */
export const labelIndex = (label: string): string => `kube/label/${label}`;

export class ObjectTable<T extends KubeObject> {
  readonly objects = new Map<string, T>();
  readonly #uids = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #onFault: (error: unknown) => void;

  /** `onFault` receives errors of index functions; their object is then missing from that index. */
  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
    this.addIndex(NAMESPACE, (object) => (object.metadata.namespace ? [object.metadata.namespace] : []));
  }

  /** Adds or replaces the object at the key; undefined removes it. */
  set(key: string, object: T | undefined): void {
    const old = this.objects.get(key);
    for (const index of this.#indexes.values())
      index.values.update(key, this.#valuesOf(index.indexFunction, old), this.#valuesOf(index.indexFunction, object));
    if (old?.metadata.uid && this.#uids.get(old.metadata.uid) === old) this.#uids.delete(old.metadata.uid);
    if (object?.metadata.uid) this.#uids.set(object.metadata.uid, object);
    if (object) this.objects.set(key, object);
    else this.objects.delete(key);
  }

  /** The object's values in every index. */
  indexedValues(object: T): Map<string, readonly string[]> {
    return new Map(
      [...this.#indexes].map(([name, { indexFunction }]) => [name, this.#valuesOf(indexFunction, object)]),
    );
  }

  byUid(uid: string): T | undefined {
    return this.#uids.get(uid);
  }

  listByKeys(keys: Iterable<string>): T[] {
    const found: T[] = [];
    for (const key of keys) {
      const object = this.objects.get(key);
      if (object) found.push(object);
    }
    return found;
  }

  list(filter: ListFilter): T[] {
    return this.listByKeys(this.#candidateKeys(filter)).filter((object) => matches(object, filter));
  }

  /** @throws Error that lists the known indexes */
  byIndex(name: string, value: string): T[] {
    const index = this.#indexes.get(name);
    if (!index) throw new Error(`there is no index ${name}; known: ${[...this.#indexes.keys()].join(", ")}`);
    return this.listByKeys(index.values.keys(value));
  }

  addIndex(name: string, of: IndexFunction<T>): void {
    if (this.#indexes.has(name)) return;
    const values = createValueIndex();
    this.#indexes.set(name, { indexFunction: of, values });
    for (const [key, object] of this.objects) values.update(key, [], this.#valuesOf(of, object));
  }

  // Uses the most selective index. A label is indexed when a filter first names it.
  #candidateKeys(filter: ListFilter): Iterable<string> {
    const [label] = Object.entries(filter.labels ?? {});
    if (label) {
      const [name, value] = label;
      this.addIndex(labelIndex(name), (object) => {
        const held = object.metadata.labels?.[name];
        return held === undefined ? [] : [held];
      });
      return this.#indexes.get(labelIndex(name))?.values.keys(value) ?? [];
    }
    return (
      (filter.namespace === undefined ? undefined : this.#indexes.get(NAMESPACE)?.values.keys(filter.namespace)) ??
      this.objects.keys()
    );
  }

  #valuesOf(of: IndexFunction<T>, object: T | undefined): readonly string[] {
    try {
      return object ? of(object) : [];
    } catch (error) {
      this.#onFault(error);
      return [];
    }
  }
}

function matches(object: KubeObject, filter: ListFilter): boolean {
  if (filter.namespace !== undefined && object.metadata.namespace !== filter.namespace) return false;
  return Object.entries(filter.labels ?? {}).every(([name, value]) => object.metadata.labels?.[name] === value);
}

/** The key of an object in the table. */
export const tableKey = (object: KubeObject): string => keyOf(object.metadata);
