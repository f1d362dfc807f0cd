// CEL's arithmetic: overflow is an error, kinds of numbers do not mix.
import { compare, contains, equal } from "./compare.ts";
import { inRange } from "./time.ts";
import { CelError, UnsignedInt, isList, kindOf, listTypeOf, type CelTime, type CelValue } from "./values.ts";

const maxInt = 2n ** 63n - 1n;
const minInt = -(2n ** 63n);

/** The value, when it fits 64 bits. */
export function int64(value: bigint): bigint {
  if (value > maxInt || value < minInt) throw new CelError("integer overflow");
  return value;
}

type Arithmetic = "+" | "-" | "*" | "/" | "%";

const onIntegers: Record<Arithmetic, (a: bigint, b: bigint) => bigint> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => (b === 0n ? fail("division by zero") : a / b),
  "%": (a, b) => (b === 0n ? fail("modulus by zero") : a % b),
};

const onDoubles: Record<Arithmetic, (a: number, b: number) => number> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "%": () => fail("no such overload"),
};

function fail(message: string): never {
  throw new CelError(message);
}

function arithmetic(op: Arithmetic, a: CelValue, b: CelValue): CelValue {
  if (typeof a === "bigint" && typeof b === "bigint") return int64(onIntegers[op](a, b));
  if (typeof a === "number" && typeof b === "number") return onDoubles[op](a, b);
  if (a instanceof UnsignedInt && b instanceof UnsignedInt)
    return new UnsignedInt(onIntegers[op](a.valueOf(), b.valueOf()));
  if (op === "+") return join(a, b) ?? onTimes(op, a, b);
  return onTimes(op, a, b);
}

function join(a: CelValue, b: CelValue): CelValue | undefined {
  if (typeof a === "string" && typeof b === "string") return a + b;
  if (isList(a) && isList(b)) return joinLists(a, b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Uint8Array.from([...a, ...b]);
  return undefined;
}

/** A set list takes what it does not have yet; a plain list is appended to. */
function joinLists(a: readonly CelValue[], b: readonly CelValue[]): CelValue {
  if (listTypeOf(a) !== "set") return [...a, ...b];
  return [...a, ...b.filter((item) => !a.some((other) => equal(item, other)))];
}

function onTimes(op: Arithmetic, a: CelValue, b: CelValue): CelValue {
  const kinds = `${kindOf(a)} ${op} ${kindOf(b)}`;
  const result = timeResults[kinds];
  if (!result) throw new CelError("no such overload");
  const [left, right] = [(a as CelTime).nanos, (b as CelTime).nanos];
  return inRange(result, op === "+" ? left + right : left - right);
}

const timeResults: Record<string, "timestamp" | "duration"> = {
  "timestamp + duration": "timestamp",
  "duration + timestamp": "timestamp",
  "duration + duration": "duration",
  "timestamp - timestamp": "duration",
  "timestamp - duration": "timestamp",
  "duration - duration": "duration",
};

function ordered(test: (order: number) => boolean): (a: CelValue, b: CelValue) => boolean {
  return (a, b) => {
    const order = compare(a, b);
    return order !== undefined && test(order);
  };
}

/** Binary operators that evaluate both sides. */
export const binaryOperators: Record<string, (a: CelValue, b: CelValue) => CelValue> = {
  "==": equal,
  "!=": (a, b) => !equal(a, b),
  in: contains,
  "<": ordered((order) => order < 0),
  "<=": ordered((order) => order <= 0),
  ">": ordered((order) => order > 0),
  ">=": ordered((order) => order >= 0),
  "+": (a, b) => arithmetic("+", a, b),
  "-": (a, b) => arithmetic("-", a, b),
  "*": (a, b) => arithmetic("*", a, b),
  "/": (a, b) => arithmetic("/", a, b),
  "%": (a, b) => arithmetic("%", a, b),
};

export const unaryOperators: Record<string, (a: CelValue) => CelValue> = {
  "!_": (a) => (typeof a === "boolean" ? !a : fail("no such overload")),
  "-_": (a) => {
    if (typeof a === "bigint") return int64(-a);
    return typeof a === "number" ? -a : fail("no such overload");
  },
};
