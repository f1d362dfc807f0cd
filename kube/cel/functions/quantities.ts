// Kubernetes quantities ("1Gi", "250m") in expressions.
import { CelError, kindOf, typeName, type CelOpaque, type CelValue } from "../values.ts";
import { text, type Library } from "./library.ts";

/** Go's message about a text that is no quantity. */
export const NO_QUANTITY =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** Quantities are exact to a billionth; finer parts are rounded up, as in Kubernetes. */
const scale = 1_000_000_000n;

const suffixes: Record<string, readonly [bigint, bigint]> = {
  n: [1n, 1_000_000_000n],
  u: [1n, 1_000_000n],
  m: [1n, 1000n],
  "": [1n, 1n],
  k: [10n ** 3n, 1n],
  M: [10n ** 6n, 1n],
  G: [10n ** 9n, 1n],
  T: [10n ** 12n, 1n],
  P: [10n ** 15n, 1n],
  E: [10n ** 18n, 1n],
  Ki: [2n ** 10n, 1n],
  Mi: [2n ** 20n, 1n],
  Gi: [2n ** 30n, 1n],
  Ti: [2n ** 40n, 1n],
  Pi: [2n ** 50n, 1n],
  Ei: [2n ** 60n, 1n],
};

/** The value in billionths; undefined when the text is no quantity. */
export function parseQuantity(source: string): bigint | undefined {
  const match = /^([+-]?)(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d{1,3})|([a-zA-Z]{0,2}))$/.exec(source);
  if (!match) return undefined;
  const [, sign, digits = "0", exponent, suffix = ""] = match;
  const factor = exponent === undefined ? suffixes[suffix] : powerOfTen(Number(exponent.slice(1)));
  if (!factor) return undefined;
  const [whole = "", fraction = ""] = digits.split(".");
  const above = BigInt(`${whole}${fraction}` || "0") * factor[0] * scale;
  const below = factor[1] * 10n ** BigInt(fraction.length);
  const size = (above + below - 1n) / below;
  return sign === "-" ? -size : size;
}

function powerOfTen(exponent: number): readonly [bigint, bigint] {
  return exponent < 0 ? [1n, 10n ** BigInt(-exponent)] : [10n ** BigInt(exponent), 1n];
}

interface QuantityValue extends CelOpaque {
  readonly size: bigint;
}

function sizeOf(value: CelValue | undefined): bigint {
  if (typeof value === "bigint") return value * scale;
  if (value !== undefined && kindOf(value) === "opaque" && (value as CelOpaque).type === "kubernetes.Quantity")
    return (value as QuantityValue).size;
  throw new CelError("no such overload");
}

function quantity(size: bigint): QuantityValue {
  const value: QuantityValue = {
    celKind: "opaque",
    type: "kubernetes.Quantity",
    size,
    call: (method, args) => {
      const apply = quantityMethods[method];
      if (!apply)
        throw new CelError(`no such overload: kubernetes.Quantity.${method}(${args.map(typeName).join(", ")})`);
      return apply(size, args[0]);
    },
    equals: (other) => other.type === "kubernetes.Quantity" && (other as QuantityValue).size === size,
  };
  return value;
}

const quantityMethods: Record<string, (size: bigint, other: CelValue | undefined) => CelValue> = {
  sign: (size) => (size === 0n ? 0n : size > 0n ? 1n : -1n),
  isInteger: (size) => size % scale === 0n,
  asInteger: (size) => (size % scale === 0n ? size / scale : fail("cannot convert value to integer")),
  asApproximateFloat: (size) => Number(size) / Number(scale),
  add: (size, other) => quantity(size + sizeOf(other)),
  sub: (size, other) => quantity(size - sizeOf(other)),
  isGreaterThan: (size, other) => size > sizeOf(other),
  isLessThan: (size, other) => size < sizeOf(other),
  compareTo: (size, other) => (size === sizeOf(other) ? 0n : size > sizeOf(other) ? 1n : -1n),
};

function fail(message: string): never {
  throw new CelError(message);
}

export const quantityMethodNames = Object.keys(quantityMethods);

export const quantities: Library = {
  functions: {
    quantity: (source) => quantity(parseQuantity(text(source)) ?? fail(NO_QUANTITY)),
    isQuantity: (source) => parseQuantity(text(source)) !== undefined,
  },
  methods: {},
};
