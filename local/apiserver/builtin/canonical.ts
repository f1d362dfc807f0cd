// Objects of built-in kinds as Go's types print them: zero values left out or printed, field by field (shapes.json), quantities and times in one form.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TypeView } from "../apply/type-view.ts";
import { isMap, isUnreadableTime, type JsonMap } from "../apply/values.ts";
import { TypeFault } from "./type-fault.ts";
import { NO_QUANTITY } from "../../../kube/cel/functions/quantities.ts";
import { canonicalQuantity } from "./quantity.ts";

interface Shape {
  drop: Set<string>;
  keep: Set<string>;
}

/** The type of amounts in the OpenAPI schemas. */
export const QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const MICRO_TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const TIME = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";

let loaded: Map<string, Shape> | undefined;

function shapeOf(name: string | undefined): Shape | undefined {
  loaded ??= new Map(
    Object.entries(
      JSON.parse(readFileSync(join(import.meta.dirname, "shapes.json"), "utf8")) as Record<
        string,
        { drop: string[]; keep: string[] }
      >,
    ).map(([each, { drop, keep }]) => [each, { drop: new Set(drop), keep: new Set(keep) }]),
  );
  return name === undefined ? undefined : loaded.get(name);
}

const isStruct = (view: TypeView): boolean =>
  view.map !== undefined && view.list === undefined && view.map.element === undefined;
const isTime = (view: TypeView) => view.name === TIME || view.name === MICRO_TIME;

const typeAt = (view: TypeView, key: string): TypeView | undefined => view.map?.field(key) ?? view.map?.element?.();

/** Removes in place what Go reads as absent, and rewrites quantities and times. Throws TypeFault on an invalid one. */
export function dropZeros(view: TypeView, name: string | undefined, value: JsonMap, path = ""): void {
  const shape = shapeOf(name);
  for (const [key, entry] of Object.entries(value)) {
    const type = typeAt(view, key);
    if (!type) continue;
    value[key] = canonicalValue(type, entry, path ? `${path}.${key}` : key);
    // An empty list of these is a request to forget them.
    if (key !== "managedFields" && shape?.drop.has(key) && !isStruct(type) && isZero(entry)) delete value[key];
  }
}

function canonicalValue(view: TypeView, value: unknown, path: string): unknown {
  if (isMap(value)) dropZeros(view, view.name, value, path);
  else if (Array.isArray(value)) {
    const element = view.list?.element();
    return element ? value.map((item, i) => canonicalValue(element, item, `${path}[${i}]`)) : value;
  }
  if (typeof value === "string" && isTime(view)) return canonicalTime(view, value, path);
  return view.name === QUANTITY && (typeof value === "string" || typeof value === "number")
    ? quantityOf(String(value), path)
    : value;
}

function quantityOf(text: string, path: string): string {
  const found = canonicalQuantity(text);
  if (found === undefined) throw new TypeFault(path, NO_QUANTITY);
  return found;
}

function canonicalTime({ name }: TypeView, text: string, path: string): string {
  if (name === MICRO_TIME && !/\.\d{6}(Z|[+-]\d\d:\d\d)$/.test(text))
    throw new TypeFault(
      path,
      `parsing time ${JSON.stringify(text)} as "2006-01-02T15:04:05.000000Z07:00": cannot parse ${JSON.stringify(text)} as ".000000"`,
    );
  if (isUnreadableTime(text))
    throw new TypeFault(
      path,
      `parsing time ${JSON.stringify(text)} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(text)} as "2006"`,
    );
  const seconds = new Date(text).toISOString().slice(0, 19);
  if (name === TIME) return `${seconds}Z`;
  const [, micros = ""] = /\.(\d+)/.exec(text) ?? [];
  return `${seconds}.${micros.slice(0, 6).padEnd(6, "0")}Z`;
}

function isZero(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isMap(value)) return Object.keys(value).length === 0;
  return value === "" || value === 0 || value === false;
}

/** Empty lists of fields without omitempty are null once they were stored. */
export function settleEmpties(name: string | undefined, value: JsonMap): void {
  for (const key of shapeOf(name)?.keep ?? []) {
    const entry = value[key];
    if (Array.isArray(entry) && entry.length === 0) value[key] = null;
  }
}

/** Fills in place what Go always prints: fields without omitempty, structs, times. */
export function fillZeros(view: TypeView, name: string | undefined, value: JsonMap): void {
  const shape = shapeOf(name);
  for (const [key, entry] of Object.entries(value)) {
    const type = typeAt(view, key);
    if (type) fillValue(type, entry);
  }
  if (!shape) return;
  for (const key of shape.keep) fillField(view, value, key, true);
  for (const key of shape.drop) fillField(view, value, key, false);
}

function fillValue(view: TypeView, value: unknown): void {
  if (isMap(value)) fillZeros(view, view.name, value);
  else if (Array.isArray(value)) for (const item of value) fillValue(view.list?.element() ?? view, item);
}

function fillField(view: TypeView, value: JsonMap, key: string, isKept: boolean): void {
  const type = view.map?.field(key);
  const isRootMetadata = key === "metadata" && value.apiVersion !== undefined;
  if (!type || key === "creationTimestamp" || isRootMetadata || value[key] !== undefined) return;
  const filled = alwaysPrinted(type) ?? (isKept ? { zero: zeroOf(type) } : undefined);
  if (filled) value[key] = filled.zero;
}

/** Types that omitempty does not leave out: structs, times, numbers that may be texts. */
function alwaysPrinted(type: TypeView): { zero: unknown } | undefined {
  if (isTime(type)) return { zero: null };
  if (type.schema.format === "int-or-string") return { zero: 0 };
  if (!isStruct(type)) return undefined;
  const inner: JsonMap = {};
  fillZeros(type, type.name, inner);
  return { zero: inner };
}

function zeroOf(type: TypeView): unknown {
  if (type.name === QUANTITY) return "0";
  if (type.scalar === "string") return "";
  if (type.scalar === "boolean") return false;
  return type.scalar === "integer" || type.scalar === "number" ? 0 : null;
}
