// Which functions an expression may call. Names are looked up at run time by the receiver's type, as CEL's overloads are.
import { cidrs, netMethodNames } from "./net.ts";
import { conversions } from "./conversions.ts";
import { formats } from "./formats.ts";
import { lists } from "./lists.ts";
import { quantities, quantityMethodNames } from "./quantities.ts";
import { sets } from "./sets.ts";
import { strings } from "./strings.ts";
import { times } from "./times.ts";
import { urlMethodNames, urls } from "./urls.ts";
import { list, mismatch, type Library } from "./library.ts";
import {
  CelError,
  UnsignedInt,
  isList,
  isMap,
  none,
  some,
  kindOf,
  typeName,
  type CelOpaque,
  type CelOptional,
  type CelValue,
} from "../values.ts";

const optionals: Library = {
  functions: {
    "optional.of": (value) => some(value),
    "optional.none": () => none,
    "optional.unwrap": unwrap,
    "optional.ofNonZeroValue": (value) => (isZero(value ?? null) ? none : some(value)),
  },
  methods: {
    list: { unwrapOpt: unwrap },
    optional_type: {
      hasValue: (self) => (self as CelOptional).value !== undefined,
      value: (self) => valueOr(self as CelOptional, missing),
      orValue: (self, other) => valueOr(self as CelOptional, () => other ?? null),
      or: (self, other) => ((self as CelOptional).value === undefined ? (other ?? none) : self),
    },
  },
};

/** Values of the optionals that have one. */
function unwrap(optionals: CelValue | undefined): CelValue {
  return list(optionals).flatMap((item) => {
    if (kindOf(item) !== "optional") return mismatch(item);
    const { value } = item as CelOptional;
    return value === undefined ? [] : [value];
  });
}

function valueOr({ value }: CelOptional, otherwise: () => CelValue): CelValue {
  return value === undefined ? otherwise() : value; // null is a value
}

function missing(): never {
  throw new CelError("optional.none() dereference");
}

function isZero(value: CelValue): boolean {
  if (value === null || typeof value !== "object") return !value && !Number.isNaN(value);
  if (isList(value) || value instanceof Uint8Array) return value.length === 0;
  if (value instanceof UnsignedInt) return value.valueOf() === 0n;
  if (isMap(value)) return value.keys().length === 0;
  return value.celKind === "duration" && value.nanos === 0n;
}

const libraries: Library[] = [conversions, strings, lists, times, quantities, urls, formats, sets, cidrs, optionals];

const functions = new Map(libraries.flatMap((library) => Object.entries(library.functions)));
const methods = new Map<string, Map<string, NonNullable<Library["methods"][string]>[string]>>();
for (const library of libraries) {
  for (const [type, named] of Object.entries(library.methods)) {
    const known = methods.get(type) ?? new Map();
    for (const [name, method] of Object.entries(named)) known.set(name, method);
    methods.set(type, known);
  }
}

const namespaces = new Set(
  [...functions.keys()].filter((name) => name.includes(".")).map((name) => name.slice(0, name.indexOf("."))),
);
const opaqueMethods = new Set<string>([...quantityMethodNames, ...urlMethodNames, ...netMethodNames, "validate"]);

/** Whether a name before a dot belongs to function names, as `sets` in `sets.contains`. */
export function isNamespace(name: string): boolean {
  return namespaces.has(name);
}

/** Everything that expressions may call: functions by full name, methods by name, sorted. */
export function functionNames(): string[] {
  const all = [...functions.keys(), ...opaqueMethods, ...[...methods.values()].flatMap((named) => [...named.keys()])];
  return [...new Set(all)].sort();
}

/** Makes known that values of another part have these methods, so that a static check accepts them. */
export function declareMethods(names: string[]): void {
  for (const name of names) opaqueMethods.add(name);
}

/** Whether anything answers to the name, as function (`dotted` included) or as method. */
export function isFunction(name: string): boolean {
  return functions.has(name);
}

export function isMethod(name: string): boolean {
  return opaqueMethods.has(name) || [...methods.values()].some((named) => named.has(name));
}

/** Calls `name(args)`. */
export function callFunction(name: string, args: CelValue[]): CelValue {
  const called = functions.get(name);
  if (!called) throw new CelError(`undeclared reference to '${name}' (in container '')`);
  if (args.length > called.length) throw new CelError(`no such overload: ${name}(${args.map(typeName).join(", ")})`);
  return called(...args);
}

/** Calls `self.name(args)`. */
export function callMethod(name: string, self: CelValue, args: CelValue[]): CelValue {
  const method = methods.get(typeName(self))?.get(name);
  // A function's length counts the arguments that it takes, those it can do without included.
  if (method && args.length < method.length) return method(self, ...args);
  if (kindOf(self) === "opaque") return (self as CelOpaque).call(name, args);
  throw new CelError(`no such overload: ${typeName(self)}.${name}(${args.map(typeName).join(", ")})`);
}
