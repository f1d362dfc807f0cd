// `"%s is %d".format([a, b])`, as the strings extension defines it.
import { CelError, UnsignedInt, isList, isMap, typeName, type CelValue } from "../values.ts";
import { conversions } from "./conversions.ts";

/** Fills the clauses of a format: %s %d %f %e %x %X %o %b %%. */
export function formatString(format: string, args: readonly CelValue[]): string {
  let next = 0;
  return format.replace(/%(?:\.(\d+))?(.)/gs, (_whole, digits: string | undefined, clause: string) => {
    if (clause === "%") return "%";
    const write = clauses[clause];
    if (!write) throw new CelError(`unrecognized formatting clause "${clause}"`);
    if (next >= args.length) throw new CelError(`index ${next} out of range`);
    return write(args[next++] as CelValue, digits === undefined ? 6 : Number(digits));
  });
}

type Write = (value: CelValue, digits: number) => string;

const clauses: Record<string, Write> = {
  s: display,
  d: (value) => String(integer(value)),
  f: (value, digits) => double(value).toFixed(digits),
  e: (value, digits) =>
    double(value)
      .toExponential(digits)
      .replace(/e([+-])(\d)$/, "e$10$2"),
  b: (value) => (typeof value === "boolean" ? (value ? "1" : "0") : integer(value).toString(2)),
  o: (value) => integer(value).toString(8),
  x: hexadecimal,
  X: (value) => hexadecimal(value).toUpperCase(),
};

function integer(value: CelValue): bigint {
  if (typeof value === "bigint") return value;
  if (value instanceof UnsignedInt) return value.valueOf();
  throw new CelError(`decimal clause can only be used on integers, was given ${typeName(value)}`);
}

function double(value: CelValue): number {
  return typeof value === "number" ? value : Number(integer(value));
}

function hexadecimal(value: CelValue): string {
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : integer(value).toString(16);
}

function display(value: CelValue): string {
  if (value === null) return "null";
  if (isList(value)) return `[${value.map(display).join(", ")}]`;
  if (!isMap(value)) return String(conversions.functions["string"]?.(value));
  const entries = value.keys().map((key) => `${display(key)}: ${display(value.get(key) ?? null)}`);
  return `{${entries.sort().join(", ")}}`;
}
