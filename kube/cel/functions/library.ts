// The shape of a function library, and how a function asks for the type of an argument.
import { CelError, isList, typeName, type CelValue } from "../values.ts";

/** Functions by name; methods by the receiver's type name, then name. Missing arguments are undefined. */
export interface Library {
  functions: Record<string, (...args: (CelValue | undefined)[]) => CelValue>;
  methods: Record<string, Record<string, (self: CelValue, ...args: (CelValue | undefined)[]) => CelValue>>;
}

function mismatch(value: CelValue | undefined): never {
  throw new CelError(`no such overload${value === undefined ? "" : `: unexpected ${typeName(value)}`}`);
}

export const text = (value: CelValue | undefined): string => (typeof value === "string" ? value : mismatch(value));
export const int = (value: CelValue | undefined): bigint => (typeof value === "bigint" ? value : mismatch(value));
export const list = (value: CelValue | undefined): readonly CelValue[] =>
  value !== undefined && isList(value) ? value : mismatch(value);
export { mismatch };
