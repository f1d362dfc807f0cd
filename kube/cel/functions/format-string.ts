// `"%s is %d".format([a, b])`, as kube-apiserver has it: version 2 of the strings extension, whose numbers are American English and whose lists quote their texts.
import { CelError, UnsignedInt, isList, isMap, kindOf, typeName, type CelTypeValue, type CelValue } from "../values.ts";
import { conversions } from "./conversions.ts";

/** Fills the clauses of a format: %s %d %f %e %x %X %o %b %%. */
export function formatString(format: string, args: readonly CelValue[]): string {
  let next = 0;
  return format.replace(/%(?:\.(\d+))?(.|$)/gsu, (_whole, digits: string | undefined, clause: string) => {
    if (clause === "%") return "%";
    if (clause === "") throw new CelError("unexpected end of string");
    const write = clauses[clause];
    if (!write) throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${clause}"`);
    if (next >= args.length) throw new CelError(`index ${next} out of range`);
    return write(args[next++] as CelValue, digits === undefined ? defaultDigits : Math.min(Number(digits), mostDigits));
  });
}

type Write = (value: CelValue, digits: number) => string;

const defaultDigits = 6;
/** As many as JavaScript writes. */
const mostDigits = 100;

const clauses: Record<string, Write> = {
  s: display,
  d: (value) => String(integer(value, "decimal clause can only be used on integers")),
  f: fixed,
  e: scientific,
  b: (value) =>
    typeof value === "boolean"
      ? String(Number(value))
      : integer(value, "only integers and bools can be formatted as binary").toString(2),
  o: (value) => integer(value, "octal clause can only be used on integers").toString(8),
  x: hexadecimal,
  X: (value) => hexadecimal(value).toUpperCase(),
};

function unfit(rule: string, value: CelValue): never {
  throw new CelError(`error during formatting: ${rule}, was given ${typeName(value)}`);
}

function integer(value: CelValue, rule: string): bigint {
  if (typeof value === "bigint") return value;
  return value instanceof UnsignedInt ? value.valueOf() : unfit(rule, value);
}

function hexadecimal(value: CelValue): string {
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return integer(value, "only integers, byte buffers, and strings can be formatted as hex").toString(16);
}

const namedDoubles = new Map([
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
]);

function double(value: CelValue, rule: string): number {
  if (typeof value === "number") return value;
  return (typeof value === "string" ? namedDoubles.get(value) : undefined) ?? unfit(rule, value);
}

function fixed(value: CelValue, digits: number): string {
  const number = double(value, "fixed-point clause can only be used on doubles");
  if (!Number.isFinite(number)) return unbounded(number);
  const [whole = "", fraction] = fixedText(number, digits).split(".");
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** JavaScript writes numbers from 1e21 on with an exponent; those are whole. */
function fixedText(number: number, digits: number): string {
  if (Math.abs(number) >= 1e21) return `${BigInt(number)}${digits === 0 ? "" : `.${"0".repeat(digits)}`}`;
  return halfToEven((places) => number.toFixed(places), digits);
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function scientific(value: CelValue, digits: number): string {
  const number = double(value, "scientific clause can only be used on doubles");
  const places = digits || defaultDigits;
  if (!Number.isFinite(number)) return unbounded(number).padStart(places);
  const [mantissa = "", exponent = ""] = halfToEven((most) => number.toExponential(most), places).split("e");
  const size = exponent.slice(1).padStart(2, "0");
  const raised = [...size].map((digit) => superscripts[Number(digit)]).join("");
  return `${mantissa}×10${exponent.startsWith("-") ? "⁻" : ""}${raised}`;
}

function unbounded(number: number): string {
  if (Number.isNaN(number)) return "NaN";
  return number < 0 ? "-∞" : "∞";
}

/** JavaScript rounds a half away from zero, Go to the even digit. */
function halfToEven(write: (digits: number) => string, digits: number): string {
  const [exact = "", exponent] = write(mostDigits).split("e");
  const dot = exact.indexOf(".");
  const kept = exact.slice(0, digits === 0 ? dot : dot + 1 + digits);
  const isHalf = /^50*$/.test(exact.slice(dot + 1 + digits));
  if (!isHalf || /[13579]$/.test(kept)) return write(digits);
  return exponent === undefined ? kept : `${kept}e${exponent}`;
}

const shown = new Set(["int", "uint", "double", "bool", "string", "bytes"]);
const displayRule =
  "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";

function display(value: CelValue): string {
  if (value === null) return "null";
  if (isList(value)) return `[${value.map(nested).join(", ")}]`;
  if (isMap(value)) return `{${entriesOf(value).join(", ")}}`;
  const kind = kindOf(value);
  if (kind === "type") return (value as CelTypeValue).type;
  if (kind !== "timestamp" && kind !== "duration" && !shown.has(typeName(value))) unfit(displayRule, value);
  return String(conversions.functions["string"]?.(value));
}

function entriesOf(map: CelValue): string[] {
  if (!isMap(map)) return [];
  return map
    .keys()
    .map((key) => [nested(key), nested(map.get(key) ?? null)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map((entry) => entry.join(":"));
}

/** An item of a list or a map: written as a literal would be. */
function nested(value: CelValue): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof Uint8Array) return `b${JSON.stringify(display(value))}`;
  if (typeof value === "number")
    return Number.isFinite(value) ? fixedText(value, defaultDigits) : `"${display(value)}"`;
  const kind = kindOf(value);
  if (kind === "timestamp" || kind === "duration") return `${kind}("${display(value)}")`;
  if (kind === "opaque" || kind === "optional")
    throw new CelError(`error during formatting: no formatting function for ${typeName(value)}`);
  return display(value);
}
