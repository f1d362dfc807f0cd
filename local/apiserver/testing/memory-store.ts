// A store for the tests of auth/ and admission/: objects in maps, committed at once. Not for the server.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ChangeEvent, GroupVersionResource, ResourceReader, SystemWriter } from "../types.ts";
import { notFound } from "../status.ts";

/** Reader and writer over one memory. `kinds` says what `findKind` knows: `group/Kind` to its resource. */
export interface MemoryStore {
  reader: ResourceReader;
  writer: SystemWriter;
  /** Creates or replaces without any check. */
  put(group: string, resource: string, object: KubeObject): void;
  /** How many writes went through `writer`. */
  writes(): number;
}

export function createMemoryStore(
  kinds: Record<string, { gvr: GroupVersionResource; namespaced: boolean }> = {},
): MemoryStore {
  const objects = new Map<string, Map<string, KubeObject>>();
  const listeners = new Map<string, Set<(event: ChangeEvent) => void>>();
  let count = 0;
  const table = (group: string, resource: string) => {
    const key = `${group}/${resource}`;
    const known = objects.get(key) ?? new Map<string, KubeObject>();
    objects.set(key, known);
    return known;
  };
  const tell = (group: string, resource: string, event: ChangeEvent) => {
    for (const listener of listeners.get(`${group}/${resource}`) ?? []) listener(event);
  };
  const keyOf = (namespace: string, name: string) => `${namespace}/${name}`;
  const put = (group: string, resource: string, object: KubeObject) => {
    const key = keyOf(object.metadata.namespace ?? "", object.metadata.name);
    const oldObject = table(group, resource).get(key);
    table(group, resource).set(key, object);
    tell(group, resource, { type: oldObject ? "MODIFIED" : "ADDED", object, ...(oldObject && { oldObject }) });
  };
  const write = async (gvr: GroupVersionResource, object: KubeObject): Promise<KubeObject> => {
    count++;
    put(gvr.group, gvr.resource, object);
    return await Promise.resolve(object);
  };
  return {
    put,
    writes: () => count,
    reader: {
      find: (group, resource, namespace, name) => table(group, resource).get(keyOf(namespace, name)),
      list: (group, resource, namespace) =>
        [...table(group, resource).values()].filter(
          (one) => namespace === undefined || one.metadata.namespace === namespace,
        ),
      subscribe: (group, resource, onChange) => {
        const key = `${group}/${resource}`;
        listeners.set(key, (listeners.get(key) ?? new Set()).add(onChange));
        return () => void listeners.get(key)?.delete(onChange);
      },
      findKind: (group, kind) => kinds[`${group}/${kind}`],
    },
    writer: {
      create: write,
      update: write,
      delete: async (gvr, namespace, name) => {
        const key = keyOf(namespace, name);
        const object = table(gvr.group, gvr.resource).get(key);
        if (!object) throw notFound(gvr, name);
        table(gvr.group, gvr.resource).delete(key);
        tell(gvr.group, gvr.resource, { type: "DELETED", object });
        await Promise.resolve();
      },
    },
  };
}
