// Equality and order of CEL values.
import {
  CelError,
  UnsignedInt,
  isList,
  isMap,
  kindOf,
  listTypeOf,
  typeName,
  type CelMap,
  type CelOpaque,
  type CelOptional,
  type CelTime,
  type CelTypeValue,
  type CelValue,
} from "./values.ts";

/** A number of any of CEL's three kinds as a JavaScript value that compares across kinds; undefined for others. */
function numberOf(value: CelValue): bigint | number | undefined {
  if (typeof value === "bigint" || typeof value === "number") return value;
  return value instanceof UnsignedInt ? value.valueOf() : undefined;
}

/** CEL's `==`: never an error; values of different types are unequal, but numbers compare by value. */
export function equal(a: CelValue, b: CelValue): boolean {
  if (a === b) return true;
  const left = numberOf(a);
  if (left !== undefined) {
    const right = numberOf(b);
    return right !== undefined && looselyEqual(left, right);
  }
  if (isList(a)) return isList(b) && equalLists(a, b);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  return kindOf(a) !== undefined && kindOf(a) === kindOf(b) && equalKinds(a, b);
}

/** An integer beside a double is compared as a double, as cel-go does, so the largest integers lose their last digits. */
function looselyEqual(a: bigint | number, b: bigint | number): boolean {
  return typeof a === typeof b ? a === b : Number(a) === Number(b);
}

function equalKinds(a: CelValue, b: CelValue): boolean {
  switch (kindOf(a)) {
    case "map":
      return equalMaps(a as CelMap, b as CelMap);
    case "opaque":
      return (a as CelOpaque).equals?.(b as CelOpaque) ?? false;
    case "type":
      return (a as CelTypeValue).type === (b as CelTypeValue).type;
    case "optional":
      return equalOptionals(a as CelOptional, b as CelOptional);
    default:
      return (a as CelTime).nanos === (b as CelTime).nanos;
  }
}

function equalOptionals(a: CelOptional, b: CelOptional): boolean {
  if (a.value === undefined || b.value === undefined) return a.value === b.value;
  return equal(a.value, b.value);
}

function equalMaps(a: CelMap, b: CelMap): boolean {
  const keys = a.keys();
  if (keys.length !== b.keys().length) return false;
  return keys.every((key) => {
    const other = b.get(key);
    return other !== undefined && equal(a.get(key) ?? null, other);
  });
}

/** Set lists and map lists of a schema are equal whatever their order; plain lists item by item. */
function equalLists(a: readonly CelValue[], b: readonly CelValue[]): boolean {
  if (a.length !== b.length) return false;
  if (listTypeOf(a) && listTypeOf(b)) return a.every((item) => b.some((other) => equal(item, other)));
  return a.every((item, i) => equal(item, b[i] as CelValue));
}

/** Negative, zero or positive. NaN orders before nothing, so its comparisons are all false: undefined. */
export function compare(a: CelValue, b: CelValue): number | undefined {
  const left = comparable(a);
  const right = comparable(b);
  if (left.kind !== right.kind || left.kind === "") throw new CelError("no such overload");
  return typeof left.value === typeof right.value
    ? orderOf(left.value, right.value)
    : orderOf(Number(left.value), Number(right.value));
}

function orderOf(left: Comparable["value"], right: Comparable["value"]): number | undefined {
  if (left < right) return -1;
  if (left > right) return 1;
  return Number.isNaN(left) || Number.isNaN(right) ? undefined : 0;
}

interface Comparable {
  kind: string;
  value: bigint | number | string | boolean;
}

function comparable(value: CelValue): Comparable {
  const number = numberOf(value);
  if (number !== undefined) return { kind: "number", value: number };
  if (typeof value === "string" || typeof value === "boolean") return { kind: typeof value, value };
  if (value instanceof Uint8Array) return { kind: "bytes", value: Buffer.from(value).toString("latin1") };
  const kind = kindOf(value);
  if (kind === "timestamp" || kind === "duration") return { kind, value: (value as CelTime).nanos };
  return { kind: "", value: 0 };
}

/** CEL's `in`: an item of a list, or a key of a map. */
export function contains(item: CelValue, container: CelValue): boolean {
  if (isList(container)) return container.some((other) => equal(item, other));
  if (isMap(container)) return container.get(item) !== undefined;
  throw new CelError(`no such overload: @in(${typeName(item)}, ${typeName(container)})`);
}
