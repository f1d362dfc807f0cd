// What is left of objects whose watch is parked: who they were and under which index values they stood. No content is kept.
import { keyOf, type KubeObject } from "../api/object.ts";
import { createValueIndex, type ValueIndex } from "./value-index.ts";

/** Filed values of an object, by the name of the index. */
export type Filed = ReadonlyMap<string, readonly string[]>;

export class Ghosts {
  readonly #ghosts = new Map<string, { object: KubeObject; filed: Filed }>();
  readonly #indexes = new Map<string, ValueIndex>();
  readonly #namespaces = createValueIndex();
  /** Namespaces by uid. */
  readonly #uids = new Map<string, string>();

  add({ apiVersion, kind, metadata }: KubeObject, filed: Filed): void {
    const { name, namespace, uid, resourceVersion } = metadata;
    const kept = { name, ...(namespace && { namespace }), ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    const key = keyOf(metadata);
    this.#ghosts.set(key, { object: { apiVersion, kind, metadata: kept }, filed });
    this.#namespaces.move(key, [], [namespace ?? ""]);
    if (uid) this.#uids.set(uid, namespace ?? "");
    for (const [index, values] of filed) {
      const known = this.#indexes.get(index) ?? createValueIndex();
      this.#indexes.set(index, known);
      known.move(key, [], values);
    }
  }

  /** Removes and returns it. */
  take(key: string): KubeObject | undefined {
    const ghost = this.#ghosts.get(key);
    if (!ghost) return undefined;
    this.#ghosts.delete(key);
    this.#namespaces.move(key, [ghost.object.metadata.namespace ?? ""], []);
    this.#uids.delete(ghost.object.metadata.uid ?? "");
    for (const [index, values] of ghost.filed) this.#indexes.get(index)?.move(key, values, []);
    return ghost.object;
  }

  /** The namespace of a ghost that stood under that value. */
  whoBears(index: string, value: string): string | undefined {
    for (const key of this.#indexes.get(index)?.keys(value) ?? []) return this.#ghosts.get(key)?.object.metadata.namespace ?? "";
    return undefined;
  }

  /** The namespace of the ghost with that uid. */
  whereIs(uid: string): string | undefined {
    return this.#uids.get(uid);
  }

  /** Keys of one namespace, or of all. */
  keys(namespace?: string): string[] {
    return [...(namespace === undefined ? this.#ghosts.keys() : this.#namespaces.keys(namespace))];
  }
}
