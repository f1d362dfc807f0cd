// Checks the shape of a value against its type, before server-side apply merges it.
import { type ListView, partOf, type TypeView } from "./type-view.ts";
import { elementOf, isMap } from "./values.ts";
import { printElement } from "./field-set.ts";

interface At {
  path: string;
  /** Items of one key may come twice. */
  duplicates: boolean;
}

const TOP: At = { path: "", duplicates: false };
export const TOP_WITH_DUPLICATES: At = { path: "", duplicates: true };

/** The end of messages about fields that the schema does not declare. */
export const UNDECLARED = ": field not declared in schema";

/** Faults as structured merge words them, each with its path in front; empty = fits. */
export function shapeFaults(view: TypeView, value: unknown, at: At = TOP): string[] {
  const { path } = at;
  if (value === null || value === undefined) return [];
  switch (partOf(view, value)) {
    case "map":
      return mapFaults(view, value, at);
    case "list":
      return listFaults(view, value, at);
    case "scalar":
      return scalarFault(view, value, path);
    case undefined:
      return [`${path}: expected ${expected(view)}, got ${got(value)}`];
  }
}

const got = (value: unknown) => `&value.valueUnstructured{Value:${JSON.stringify(value)}}`;

/** Messages about numbers name the type that they got, those about other scalars the value. */
const gotScalar = (view: TypeView, value: unknown) =>
  view.scalar === "integer" || view.scalar === "number" ? typeof value : got(value);
const expected = (view: TypeView) => (view.map ? "map" : view.list ? "list" : scalarName(view));

function scalarName(view: TypeView): string {
  if (view.scalar === "integer" || view.scalar === "number") return "numeric (int or float)";
  return view.scalar ?? "scalar";
}

function scalarFault(view: TypeView, value: unknown, path: string): string[] {
  const type = view.scalar;
  const fits =
    type === "any" || (type === "integer" || type === "number" ? typeof value === "number" : typeof value === type);
  return fits ? [] : [`${path}: expected ${scalarName(view)}, got ${gotScalar(view, value)}`];
}

function mapFaults(view: TypeView, value: unknown, { path, duplicates }: At): string[] {
  const map = view.map;
  if (!map || !isMap(value)) return [];
  return Object.entries(value).flatMap(([key, entry]) => {
    const type = map.field(key) ?? map.element?.();
    return type ? shapeFaults(type, entry, { path: `${path}.${key}`, duplicates }) : [`${path}.${key}${UNDECLARED}`];
  });
}

function listFaults(view: TypeView, value: unknown, { path, duplicates }: At): string[] {
  const list = view.list;
  if (!list || !Array.isArray(value)) return [];
  const seen = new Set<string>();
  const faults: string[] = [];
  for (const [index, item] of (value as unknown[]).entries()) {
    if (list.relation === "atomic") {
      faults.push(...shapeFaults(list.element(), item, { path: `${path}[${index}]`, duplicates }));
      continue;
    }
    const { element, fault } = tryElement(list, item);
    // Items after one without a key are not checked.
    if (element === undefined) return [...faults, `${path}: element ${index}: ${fault}`];
    if (seen.has(element) && !duplicates) faults.push(`${path}: duplicate entries for key ${printElement(element)}`);
    seen.add(element);
    faults.push(...shapeFaults(list.element(), item, { path: path + printElement(element), duplicates }));
  }
  return faults;
}

function tryElement(list: ListView, item: unknown): { element?: string; fault?: string } {
  try {
    return { element: elementOf(list, item) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}
