// Timestamps and durations: reading and writing them as CEL and Go do.
import { CelError, textFormats, type CelTime } from "./values.ts";

const perUnit: Record<string, bigint> = {
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
  us: 1000n,
  µs: 1000n,
  ns: 1n,
};
export const nanosPerSecond = 1_000_000_000n;

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
  return { celKind: "duration", nanos: sign === "-" ? -nanos : nanos };
}

/** Reads RFC 3339. Undefined when it is none. */
export function parseTimestamp(text: string): CelTime | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/i.exec(text);
  if (!match) return undefined;
  const seconds = Date.parse(`${match[1]}${match[3]}`.toUpperCase());
  if (Number.isNaN(seconds)) return undefined;
  return { celKind: "timestamp", nanos: BigInt(seconds) * 1_000_000n + BigInt((match[2] ?? "").padEnd(9, "0")) };
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
