// Small steps that walking a typed value needs: path elements of list items, fields of maps, equality.
import { isDeepStrictEqual } from "node:util";
import { type ListView, type MapView, type TypeView, untyped } from "./type-view.ts";

export type JsonMap = Record<string, unknown>;

export const isMap = (value: unknown): value is JsonMap =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const sameValue = (a: unknown, b: unknown): boolean => isDeepStrictEqual(a, b);

/** The path element of an item of a set or list-map. Throws when a key is missing. */
export function elementOf(list: ListView, item: unknown): string {
  if (list.relation === "set") return setElementOf(item);
  if (item === null) throw new Error("associative list with keys may not have a null element");
  if (!isMap(item)) throw new Error("associative list with keys may not have non-map elements");
  const keys: JsonMap = {};
  const view = list.element();
  for (const key of list.keys) {
    const value = Object.hasOwn(item, key) ? item[key] : view.map?.field(key)?.default;
    if (value !== undefined) keys[key] = value;
  }
  if (Object.keys(keys).length === 0)
    throw new Error(
      `associative list with keys has an element that omits all key fields [${list.keys.map((key) => JSON.stringify(key)).join(" ")}] (and doesn't have default values for any key fields)`,
    );
  return `k:${JSON.stringify(keys)}`;
}

function setElementOf(item: unknown): string {
  if (isMap(item)) throw new Error("associative list without keys has an element that's a map type");
  if (Array.isArray(item)) throw new Error("not supported: associative list with lists as elements");
  if (item === null) throw new Error("associative list without keys has an element that's an explicit null");
  return `v:${JSON.stringify(item)}`;
}

/** As elementOf; undefined when the item has no key. */
export function findElement(list: ListView, item: unknown): string | undefined {
  const isKeyed =
    list.relation === "set"
      ? typeof item !== "object"
      : isMap(item) &&
        list.keys.some((key) => Object.hasOwn(item, key) || list.element().map?.field(key)?.default !== undefined);
  return isKeyed ? elementOf(list, item) : undefined;
}

/** The type of a map's entry, declared or not. */
export function entryView(map: MapView, key: string): TypeView {
  return map.field(key) ?? map.element?.() ?? untyped;
}

/** Items of a list by path element; several when the list has duplicates. Items without a key belong to nobody and are left out. */
export function itemsByElement(list: ListView, items: unknown[] | undefined): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>();
  for (const item of items ?? []) {
    const element = findElement(list, item);
    if (element === undefined) continue;
    const same = found.get(element);
    if (same) same.push(item);
    else found.set(element, [item]);
  }
  return found;
}

/** A text where a time as in RFC 3339 should be. */
export function isUnreadableTime(value: unknown): boolean {
  return typeof value === "string" && !isTimeText(value);
}

function isTimeText(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text));
}
