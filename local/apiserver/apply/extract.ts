// From values to field sets and back: which paths a value has, and a value without the paths of a set.
import { below, emptySet, type FieldSet, isEmpty } from "./field-set.ts";
import { partOf, type TypeView } from "./type-view.ts";
import { entryView, findElement, isMap, itemsByElement, type JsonMap } from "./values.ts";

/** All paths of a value: leaves, items of lists, entries of maps that the schema does not name. */
export function fieldsOf(view: TypeView, value: unknown): FieldSet {
  const set = emptySet();
  const part = partOf(view, value);
  if (part === "map" && isMap(value) && !view.map?.atomic) addEntries(set, view, value);
  if (part === "list" && Array.isArray(value) && view.list?.relation !== "atomic") addItems(set, view, value);
  return set;
}

/** A value that is owned whole: nothing below it has a path of its own. */
function isLeaf(view: TypeView, value: unknown): boolean {
  const part = partOf(view, value);
  if (part === "map") return view.map?.atomic === true;
  if (part === "list") return view.list?.relation === "atomic";
  return true;
}

function addEntries(set: FieldSet, view: TypeView, value: JsonMap): void {
  const map = view.map;
  if (!map) return;
  for (const [key, entry] of Object.entries(value)) {
    const type = entryView(map, key);
    const element = `f:${key}`;
    const isNothing = entry === null || (isMap(entry) && Object.keys(entry).length === 0);
    if (isNothing || isLeaf(type, entry) || !map.field(key)) set.members.add(element);
    addBelow(set, element, fieldsOf(type, entry));
  }
}

function addItems(set: FieldSet, view: TypeView, items: unknown[]): void {
  const list = view.list;
  if (!list) return;
  for (const [element, same] of itemsByElement(list, items)) {
    set.members.add(element);
    if (same.length === 1) addBelow(set, element, fieldsOf(list.element(), same[0]));
  }
}

function addBelow(set: FieldSet, element: string, inner: FieldSet): void {
  if (!isEmpty(inner)) set.children.set(element, inner);
}

/** The set with every declared field on the way to a path as a member of its own. */
export function withNamedFields(set: FieldSet, view: TypeView | undefined): FieldSet {
  const members = new Set(set.members);
  const children = new Map<string, FieldSet>();
  for (const [element, child] of set.children) {
    if (element.startsWith("f:") && view?.map?.field(element.slice(2))) members.add(element);
    children.set(element, withNamedFields(child, viewAt(view, element)));
  }
  return { members, children };
}

function viewAt(view: TypeView | undefined, element: string): TypeView | undefined {
  if (element.startsWith("f:")) return view?.map && entryView(view.map, element.slice(2));
  return element.startsWith("k:") ? view?.list?.element() : undefined;
}

/** A value without the paths of a set; undefined when nothing is left of a map or list. */
export function withoutFields(view: TypeView, value: unknown, remove: FieldSet): unknown {
  const part = partOf(view, value);
  if (part === "list" && Array.isArray(value)) return listWithout(view, value, remove);
  if (part === "map" && isMap(value)) return mapWithout(view, value, remove);
  return value;
}

function listWithout(view: TypeView, items: unknown[], remove: FieldSet): unknown {
  const list = view.list;
  if (!list || items.length === 0 || list.relation === "atomic") return undefined;
  const kept = items.flatMap((item) => {
    const element = findElement(list, item);
    if (element === undefined) return [item];
    if (remove.members.has(element)) return [];
    const inner = below(remove, element);
    return isEmpty(inner) ? [item] : [withoutFields(list.element(), item, inner) ?? null];
  });
  return kept.length > 0 ? kept : undefined;
}

function mapWithout(view: TypeView, value: JsonMap, remove: FieldSet): unknown {
  const map = view.map;
  const entries = Object.entries(value);
  if (!map || entries.length === 0 || map.atomic) return undefined;
  const kept: JsonMap = {};
  for (const [key, entry] of entries) {
    if (remove.members.has(`f:${key}`)) continue;
    const inner = below(remove, `f:${key}`);
    kept[key] = isEmpty(inner) ? entry : (withoutFields(entryView(map, key), entry, inner) ?? null);
  }
  return Object.keys(kept).length > 0 ? kept : undefined;
}
