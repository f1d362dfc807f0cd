// Type conversions and `size`, `type`, `dyn`.
import { formatDuration, formatTimestamp, inRange, nanosPerSecond, parseDuration, parseTimestamp } from "../time.ts";
import {
  CelError,
  UnsignedInt,
  isList,
  isMap,
  kindOf,
  typeName,
  type CelOpaque,
  type CelTime,
  type CelValue,
} from "../values.ts";
import { int64 } from "../operators.ts";
import { mismatch, type Library } from "./library.ts";

type Convert = (value: CelValue) => CelValue;

/** A conversion by the type it starts from. */
function by(table: Record<string, Convert>): (value: CelValue | undefined) => CelValue {
  return (value) => {
    if (value === undefined) return mismatch(value);
    const convert = table[typeName(value)];
    return convert ? convert(value) : mismatch(value);
  };
}

const same: Convert = (value) => value;

function whole(value: CelValue): bigint {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new CelError("integer overflow");
  return BigInt(Math.trunc(value));
}

/** cel-go refuses the least integer, too: a double there may stand for one that is less. */
function wholeInt(value: CelValue): bigint {
  if (value === -(2 ** 63)) throw new CelError("integer overflow");
  return int64(whole(value));
}

/** cel-go does not say what was wrong with the text. */
function unreadable(type: string): never {
  throw new CelError(`type conversion error from 'string' to '${type}'`);
}

function readInt(value: CelValue): bigint {
  return /^[+-]?\d+$/.test(String(value)) ? int64(BigInt(String(value).replace(/^\+/, ""))) : unreadable("int");
}

function readUint(value: CelValue): UnsignedInt {
  return /^\d+$/.test(String(value)) ? new UnsignedInt(BigInt(String(value))) : unreadable("uint");
}

function readDouble(value: CelValue): number {
  const source = String(value).toLowerCase();
  if (source === "nan") return NaN;
  if (/^[+-]?inf(inity)?$/.test(source)) return source.startsWith("-") ? -Infinity : Infinity;
  const parsed = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(source) ? Number(source) : NaN;
  return Number.isFinite(parsed) ? parsed : unreadable("double");
}

function readBool(value: CelValue): boolean {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(String(value))) return true;
  if (["0", "f", "F", "FALSE", "false", "False"].includes(String(value))) return false;
  return unreadable("bool");
}

/** As Go's `%g`: with an exponent of two digits below 1e-4 and from a million on. */
function doubleText(value: CelValue): string {
  if (value === Infinity) return "+Inf";
  if (value === -Infinity) return "-Inf";
  const size = Math.abs(Number(value));
  return size !== 0 && (size < 1e-4 || size >= 1e6)
    ? exponential(Number(value))
    : Object.is(value, -0)
      ? "-0"
      : String(value);
}

function exponential(value: number): string {
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

function utf8(value: CelValue): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value as Uint8Array);
  } catch (cause) {
    throw new CelError("invalid UTF-8 in bytes, cannot convert to string", { cause });
  }
}

/** Whole seconds, rounded down, before 1970 as well. */
function floorSeconds(nanos: bigint): bigint {
  return (nanos - (((nanos % nanosPerSecond) + nanosPerSecond) % nanosPerSecond)) / nanosPerSecond;
}

const int = by({
  int: same,
  uint: (v) => int64((v as UnsignedInt).valueOf()),
  double: wholeInt,
  string: readInt,
  "google.protobuf.Timestamp": (v) => floorSeconds((v as CelTime).nanos),
  "google.protobuf.Duration": (v) => (v as CelTime).nanos,
});

const string = by({
  string: same,
  int: String,
  uint: (v) => String((v as UnsignedInt).valueOf()),
  double: doubleText,
  bool: String,
  bytes: utf8,
  "google.protobuf.Timestamp": (v) => formatTimestamp(v as CelTime),
  "google.protobuf.Duration": (v) => formatDuration(v as CelTime),
  "net.IP": opaqueText,
  "net.CIDR": opaqueText,
});

function opaqueText(value: CelValue): CelValue {
  return kindOf(value) === "opaque" ? ((value as CelOpaque).toText?.() ?? mismatch(value)) : mismatch(value);
}

/** Length: code points of a string, items of a list, keys of a map, bytes. */
function size(value: CelValue | undefined): CelValue {
  if (typeof value === "string") return BigInt([...value].length);
  if (value instanceof Uint8Array || (value !== undefined && isList(value))) return BigInt(value.length);
  if (value !== undefined && isMap(value)) return BigInt(value.keys().length);
  return mismatch(value);
}

export const conversions: Library = {
  functions: {
    dyn: (value) => value ?? null,
    type: (value) => ({ celKind: "type", type: typeName(value ?? null) }),
    size,
    int,
    string,
    uint: by({
      uint: same,
      int: (v) => new UnsignedInt(v as bigint),
      double: (v) => new UnsignedInt(whole(v)),
      string: readUint,
    }),
    double: by({ double: same, int: Number, uint: (v) => Number((v as UnsignedInt).valueOf()), string: readDouble }),
    bool: by({ bool: same, string: readBool }),
    bytes: by({ bytes: same, string: (v) => new TextEncoder().encode(String(v)) }),
    timestamp: by({
      "google.protobuf.Timestamp": same,
      string: (v) => parseTimestamp(String(v)) ?? unreadable("google.protobuf.Timestamp"),
      int: (v) => inRange("timestamp", (v as bigint) * nanosPerSecond),
    }),
    duration: by({
      "google.protobuf.Duration": same,
      string: (v) => parseDuration(String(v)) ?? unreadable("google.protobuf.Duration"),
    }),
  },
  methods: { string: { size }, list: { size }, map: { size }, bytes: { size } },
};
