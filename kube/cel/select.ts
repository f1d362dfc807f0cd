// Selects fields and elements: `a.b`, `a["b"]`, `a[0]`, and `a.?b`, which gives an optional.
import {
  CelError,
  UnsignedInt,
  isList,
  isMap,
  kindOf,
  none,
  some,
  typeName,
  type CelOpaque,
  type CelOptional,
  type CelValue,
} from "./values.ts";

/** A field or an element; a fault when there is none. On an optional it gives an optional. */
export function select(target: CelValue, key: CelValue): CelValue {
  if (kindOf(target) === "optional") return selectOptional(target, key);
  const found = lookUp(target, key);
  if (found !== undefined) return found;
  const shown = String(key?.valueOf());
  throw new CelError(isList(target) ? `index out of bounds: ${shown}` : `no such key: ${shown}`);
}

export function selectOptional(target: CelValue, key: CelValue): CelValue {
  const inner = kindOf(target) === "optional" ? (target as CelOptional).value : target;
  return inner === undefined ? none : some(lookUp(inner, key));
}

/** Undefined when there is none: null, numbers and texts have no fields, which is no fault, so `has(null.a)` is false. */
export function lookUp(target: CelValue, key: CelValue): CelValue | undefined {
  if (isMap(target)) return target.get(key);
  if (isList(target)) return target[indexOf(key)];
  return kindOf(target) === "opaque" && typeof key === "string" ? (target as CelOpaque).field?.(key) : undefined;
}

function indexOf(key: CelValue): number {
  if (typeof key === "bigint" || key instanceof UnsignedInt) return Number(key.valueOf());
  if (typeof key !== "number") throw new CelError(`unsupported index type '${typeName(key)}' in list`);
  if (!Number.isInteger(key)) throw new CelError(`unsupported index value ${key} in list`);
  return key;
}
