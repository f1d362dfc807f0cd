// What differs between two values, as sets of paths: added, removed, modified. Lists and maps that merge are compared entry by entry.
import { emptySet, type FieldSet, insert } from "./field-set.ts";
import { partOf, type TypeView } from "./type-view.ts";
import { entryView, isMap, itemsByElement, type JsonMap, sameValue } from "./values.ts";

export interface Comparison {
  added: FieldSet;
  removed: FieldSet;
  modified: FieldSet;
}

/** Compares two values of one type; undefined stands for absent. */
export function compare(view: TypeView, before: unknown, after: unknown): Comparison {
  const result: Comparison = { added: emptySet(), removed: emptySet(), modified: emptySet() };
  walk(result, { view, path: [] }, before, after);
  return result;
}

interface At {
  view: TypeView;
  path: string[];
}

function walk(result: Comparison, at: At, given: unknown, changed: unknown): void {
  // Struct fields of built-in kinds are always there in kube-apiserver's own types: absent and empty are the same.
  const structural = at.view.name !== undefined && isMap(at.view.default) && Object.keys(at.view.default).length === 0;
  const before = structural ? given ?? {} : given;
  const after = structural ? changed ?? {} : changed;
  const partBefore = before === undefined ? undefined : partOf(at.view, before);
  const partAfter = after === undefined ? undefined : partOf(at.view, after);
  let leaf = false;
  if (partBefore !== undefined && partAfter !== undefined && partBefore !== partAfter && before !== null && after !== null) {
    leaf = descend(result, at, partBefore, [before, undefined]);
    leaf = descend(result, at, partAfter, [undefined, after]) || leaf;
    if (!sameValue(before, after)) insert(result.modified, at.path);
    return;
  }
  // null takes the shape of the other side.
  const part = (after === undefined || after === null ? partBefore : partAfter) ?? partAfter ?? "scalar";
  leaf = descend(result, at, part, [before, after]);
  if (leaf) return;
  if (before === undefined) insert(result.added, at.path);
  else if (after === undefined) insert(result.removed, at.path);
}

/** True when the value was treated as one leaf. */
function descend(result: Comparison, at: At, part: "scalar" | "list" | "map", [before, after]: [unknown, unknown]): boolean {
  const isAtomic = part === "scalar" || (part === "list" ? at.view.list?.relation === "atomic" : at.view.map?.atomic);
  if (isAtomic || (isNothing(before) && isNothing(after))) {
    leafOf(result, at.path, before, after);
    return true;
  }
  if (part === "list") walkItems(result, at, asList(before), asList(after));
  else walkEntries(result, at, isMap(before) ? before : {}, isMap(after) ? after : {});
  return false;
}

const asList = (value: unknown) => (Array.isArray(value) ? (value as unknown[]) : undefined);

function isNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isMap(value)) return Object.keys(value).length === 0;
  return value === undefined || value === null;
}

function leafOf(result: Comparison, path: string[], before: unknown, after: unknown): void {
  if (before === undefined) insert(result.added, path);
  else if (after === undefined) insert(result.removed, path);
  else if (!sameValue(before, after)) insert(result.modified, path);
}

function walkEntries(result: Comparison, at: At, before: JsonMap, after: JsonMap): void {
  const map = at.view.map;
  if (!map) return;
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const left = before[key];
    const right = after[key];
    // Same reference: nothing below can differ.
    if (left !== right) walk(result, { view: entryView(map, key), path: [...at.path, `f:${key}`] }, left, right);
  }
}

function walkItems(result: Comparison, at: At, before: unknown[] | undefined, after: unknown[] | undefined): void {
  const list = at.view.list;
  if (!list) return;
  const left = itemsByElement(list, before);
  const right = itemsByElement(list, after);
  for (const element of new Set([...left.keys(), ...right.keys()])) {
    const path = [...at.path, element];
    const olds = left.get(element) ?? [];
    const news = right.get(element) ?? [];
    if (olds.length <= 1 && news.length <= 1) walk(result, { view: list.element(), path }, olds[0], news[0]);
    else if (olds.length > 1 && news.length > 1) {
      if (!sameValue(olds, news)) insert(result.modified, path);
    } else if (olds.length > 1) {
      if (news.length > 0) walk(result, { view: list.element(), path }, undefined, news[0]);
      insert(result.removed, path);
    } else {
      if (olds.length > 0) walk(result, { view: list.element(), path }, olds[0], undefined);
      insert(result.added, path);
    }
  }
}
