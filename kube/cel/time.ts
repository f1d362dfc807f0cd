// Timestamps and durations: reading and writing them as CEL and Go do.
import { CelError, textFormats, type CelTime } from "./values.ts";

export const nanosPerSecond = 1_000_000_000n;

const perUnit: Record<string, bigint> = {
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
  us: 1000n,
  µs: 1000n,
  ns: 1n,
};

const ranges = {
  timestamp: [-62_135_596_800n * nanosPerSecond, 253_402_300_800n * nanosPerSecond - 1n],
  duration: [-(2n ** 63n), 2n ** 63n - 1n],
} as const;

/** A timestamp of the years 1 to 9999, a duration of 64 bits. Throws CelError beyond. */
export function inRange(kind: CelTime["celKind"], nanos: bigint): CelTime {
  const time = rangedOrNone({ celKind: kind, nanos });
  if (!time) throw new CelError(`${kind} overflow`);
  return time;
}

function rangedOrNone(time: CelTime): CelTime | undefined {
  const [least, most] = ranges[time.celKind];
  return time.nanos < least || time.nanos > most ? undefined : time;
}

function nanosOf(digits: string, unit: bigint): bigint {
  const [whole = "", fraction = ""] = digits.split(".");
  const scale = 10n ** BigInt(fraction.length);
  return BigInt(whole || "0") * unit + (BigInt(fraction || "0") * unit) / scale;
}

/** Reads Go's notation, e.g. `1h30m`, `-1.5s`, `0`. Undefined when it is none. */
export function parseDuration(text: string): CelTime | undefined {
  const [, sign, rest = ""] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (rest === "0") return { celKind: "duration", nanos: 0n };
  if (!/^(?:(?:\d+\.?\d*|\.\d+)(?:h|ms|m|s|us|µs|ns))+$/.test(rest)) return undefined;
  let nanos = 0n;
  for (const [, digits = "0", unit = "s"] of rest.matchAll(/(\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|ns)/g))
    nanos += nanosOf(digits, perUnit[unit] ?? 1n);
  return rangedOrNone({ celKind: "duration", nanos: sign === "-" ? -nanos : nanos });
}

/** Reads RFC 3339. Undefined when it is none. */
export function parseTimestamp(text: string): CelTime | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  if (!match) return undefined;
  const seconds = Date.parse(`${match[1]}${match[3]}`);
  if (Number.isNaN(seconds) || !isOnCalendar(match[1] ?? "")) return undefined;
  const nanos = BigInt(seconds) * 1_000_000n + BigInt((match[2] ?? "").slice(0, 9).padEnd(9, "0"));
  return rangedOrNone({ celKind: "timestamp", nanos });
}

/** JavaScript takes February 30 for March 1, and 24 o'clock. */
function isOnCalendar(local: string): boolean {
  return new Date(`${local}Z`).toISOString().startsWith(local);
}

/** RFC 3339 in UTC, with as many digits of the second as it has. */
export function formatTimestamp({ nanos }: CelTime): string {
  const fraction = ((nanos % nanosPerSecond) + nanosPerSecond) % nanosPerSecond;
  const base = new Date(Number((nanos - fraction) / 1_000_000n)).toISOString().slice(0, 19);
  return `${base}${fractionText(fraction)}Z`;
}

/** Seconds, e.g. `5400s`, `-1.5s`. */
export function formatDuration({ nanos }: CelTime): string {
  const size = nanos < 0n ? -nanos : nanos;
  return `${nanos < 0n ? "-" : ""}${size / nanosPerSecond}${fractionText(size % nanosPerSecond)}s`;
}

function fractionText(nanos: bigint): string {
  return nanos === 0n ? "" : `.${String(nanos).padStart(9, "0").replace(/0+$/, "")}`;
}

/** As `parseDuration` and `parseTimestamp`, with CEL's error. */
export function requireDuration(text: string): CelTime {
  const value = parseDuration(text);
  if (!value) throw new CelError(`time: invalid duration ${JSON.stringify(text)}`);
  return value;
}

export function requireTimestamp(text: string): CelTime {
  const value = parseTimestamp(text);
  if (!value) throw new CelError(`parsing time ${JSON.stringify(text)}: not RFC 3339`);
  return value;
}

textFormats["date-time"] = requireTimestamp;
textFormats["date"] = (text) => requireTimestamp(`${text}T00:00:00Z`);
textFormats["duration"] = requireDuration;
