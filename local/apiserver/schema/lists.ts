// Sets have no duplicate items, map lists no duplicate keys.
import type { FieldError } from "../types.ts";
import { duplicate, invalidValue } from "../field-errors.ts";
import { fieldSchema, isObject, type SchemaNode } from "./structural.ts";

/** Faults of every set and map list below a value. */
export function validateLists(value: unknown, node: SchemaNode | undefined, path: string): FieldError[] {
  if (!node) return [];
  if (Array.isArray(value))
    return [
      ...validateList(value, node, path),
      ...value.flatMap((item, i) => validateLists(item, node.items, `${path}[${i}]`)),
    ];
  if (!isObject(value)) return [];
  return Object.keys(value).flatMap((name) =>
    validateLists(value[name], fieldSchema(node, name), childPath(node, path, name)),
  );
}

/** A property by `.name`, a key of a map by `[name]`. */
export function childPath(node: SchemaNode, path: string, name: string): string {
  if (!node.properties.has(name) && node.additionalProperties) return `${path}[${name}]`;
  return path === "" ? name : `${path}.${name}`;
}

function validateList(list: unknown[], node: SchemaNode, path: string): FieldError[] {
  if (node.listType === "set") return repeated(list, path);
  if (node.listType !== "map") return [];
  const wrong = list.findIndex((item) => item !== null && !isObject(item));
  if (wrong >= 0)
    return [invalidValue(`${path}[${wrong}]`, list[wrong], "must be an object for an array of list-type map")];
  return repeated(
    list.map((item) => keyFields(item, node.listMapKeys)),
    path,
  );
}

function keyFields(item: unknown, keys: string[]): Record<string, unknown> {
  const fields = isObject(item) ? item : {};
  return Object.fromEntries(keys.filter((key) => fields[key] !== undefined).map((key) => [key, fields[key]]));
}

/** A fault at the second appearance of a value; later ones are not reported. */
function repeated(values: unknown[], path: string): FieldError[] {
  const seen = new Map<string, number>();
  return values.flatMap((value, i) => {
    const key = canonical(value);
    const times = seen.get(key) ?? 0;
    seen.set(key, times + 1);
    return times === 1 ? [duplicate(`${path}[${i}]`, JSON.parse(key))] : [];
  });
}

/** JSON with the keys of objects in order, so that equal values have equal texts. */
function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}
