// Finds the old counterpart of a part of an object: by name in objects, by key in map lists, nowhere else.
import { isDeepStrictEqual } from "node:util";
import { isObject, type SchemaNode } from "./structural.ts";

/** The old counterpart of a value. `known` is false where none can be told, such as in an atomic list. */
export interface Old {
  known: boolean;
  value: unknown;
}

export const noOld: Old = { known: false, value: undefined };

export function oldField(old: Old, name: string): Old {
  if (!old.known) return noOld;
  return isObject(old.value) && Object.hasOwn(old.value, name) ? { known: true, value: old.value[name] } : noOld;
}

/** The old counterpart of every item of a list; only map lists have them. */
export function oldItems(node: SchemaNode, list: unknown[], old: Old): Old[] {
  if (!old.known || node.listType !== "map" || !Array.isArray(old.value)) return list.map(() => noOld);
  const before = new Map<string, unknown>();
  for (const item of old.value as unknown[]) before.set(keyOfItem(node, item), item);
  return list.map((item) => {
    const key = keyOfItem(node, item);
    return before.has(key) ? { known: true, value: before.get(key) } : noOld;
  });
}

/** The key fields of a map list's item, absent ones by their default. */
export function keyOfItem(node: SchemaNode, item: unknown): string {
  const fields = isObject(item) ? item : {};
  return JSON.stringify(node.listMapKeys.map((key) => fields[key] ?? node.items?.properties.get(key)?.default ?? null));
}

/** Whether nothing changed here, so that old faults may stay (ratcheting). */
export function unchanged(value: unknown, old: Old): boolean {
  return old.known && isDeepStrictEqual(value, old.value);
}
