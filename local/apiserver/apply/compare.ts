// The differences of two values as sets of paths: added, removed, modified. Lists and maps that merge are compared entry by entry.
import { emptySet, type FieldSet, insert } from "./field-set.ts";
import { partOf, type TypeView } from "./type-view.ts";
import { entryView, isMap, itemsByElement, sameValue } from "./values.ts";

export interface Comparison {
  added: FieldSet;
  removed: FieldSet;
  modified: FieldSet;
}

/** Compares two values of one type; undefined stands for absent. */
export function compare(view: TypeView, before: unknown, after: unknown): Comparison {
  const result: Comparison = { added: emptySet(), removed: emptySet(), modified: emptySet() };
  walk(result, { view, path: [] }, [before, after]);
  return result;
}

interface At {
  view: TypeView;
  path: string[];
}

/** A value before and after; undefined is absent. */
type Sides = [before: unknown, after: unknown];

function walk(result: Comparison, at: At, sides: Sides): void {
  const [before, after] = sides;
  const partBefore = shapeOf(at.view, before);
  const partAfter = shapeOf(at.view, after);
  if (partBefore !== undefined && partAfter !== undefined && partBefore !== partAfter) {
    descend(result, at, partBefore, [before, undefined]);
    descend(result, at, partAfter, [undefined, after]);
    insert(result.modified, at.path);
    return;
  }
  // null takes the shape of the other side.
  if (descend(result, at, partAfter ?? partBefore ?? "scalar", sides)) return;
  if (before === undefined) insert(result.added, at.path);
  else if (after === undefined) insert(result.removed, at.path);
}

const shapeOf = (view: TypeView, value: unknown) =>
  value === undefined || value === null ? undefined : partOf(view, value);

/** True when the value was treated as one leaf. */
function descend(result: Comparison, at: At, part: "scalar" | "list" | "map", sides: Sides): boolean {
  if (isAtomic(at.view, part) || sides.every(isNothing)) {
    leafOf(result, at.path, sides);
    return true;
  }
  if (part === "list") walkItems(result, at, sides);
  else walkEntries(result, at, sides);
  return false;
}

function isAtomic(view: TypeView, part: "scalar" | "list" | "map"): boolean {
  if (part === "scalar") return true;
  return part === "list" ? view.list?.relation === "atomic" : view.map?.atomic === true;
}

function isNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isMap(value)) return Object.keys(value).length === 0;
  return value === undefined || value === null;
}

function leafOf(result: Comparison, path: string[], [before, after]: Sides): void {
  if (before === undefined) insert(result.added, path);
  else if (after === undefined) insert(result.removed, path);
  else if (!sameValue(before, after)) insert(result.modified, path);
}

function walkEntries(result: Comparison, at: At, [before, after]: Sides): void {
  const map = at.view.map;
  if (!map) return;
  const left = isMap(before) ? before : {};
  const right = isMap(after) ? after : {};
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    // Same reference: nothing below can differ.
    if (left[key] === right[key]) continue;
    const view = entryView(map, key);
    walk(result, { view, path: [...at.path, `f:${key}`] }, [
      Object.hasOwn(left, key) ? left[key] : undefined,
      Object.hasOwn(right, key) ? right[key] : undefined,
    ]);
  }
}

function walkItems(result: Comparison, at: At, [before, after]: Sides): void {
  const list = at.view.list;
  if (!list) return;
  const left = itemsByElement(list, Array.isArray(before) ? before : []);
  const right = itemsByElement(list, Array.isArray(after) ? after : []);
  for (const element of new Set([...left.keys(), ...right.keys()])) {
    compareItems(
      result,
      { view: list.element(), path: [...at.path, element] },
      left.get(element) ?? [],
      right.get(element) ?? [],
    );
  }
}

/** Duplicates of one key are compared as a whole; they are one path. */
function compareItems(result: Comparison, at: At, olds: unknown[], news: unknown[]): void {
  if (olds.length <= 1 && news.length <= 1) walk(result, at, [olds[0], news[0]]);
  else if (olds.length > 1 && news.length > 1) {
    if (!sameValue(olds, news)) insert(result.modified, at.path);
  } else if (olds.length > 1) {
    if (news.length > 0) walk(result, at, [undefined, news[0]]);
    insert(result.removed, at.path);
  } else {
    if (olds.length > 0) walk(result, at, [olds[0], undefined]);
    insert(result.added, at.path);
  }
}
