// Sizes and log rates of a manifest, such as `512M` and `1.5GB`.
import { z } from "zod";

const UNIT_PROBLEM = "must use a supported unit: B, K, KB, M, MB, G, GB, T, or TB";
/** Bytes. */
const UNITS: Record<string, number> = { K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };
/** 4 TB, in megabytes. */
export const MAX_MB = 4_194_304;

function toBytes(text: string): number | undefined {
  const [, count, unit = ""] = /^(-?\d{1,12}(?:\.\d{1,12})?)(?:([KMGT])(?:i?B)?|B)$/i.exec(text.trim()) ?? [];
  return count === undefined ? undefined : Math.trunc(Number(count) * (UNITS[unit.toUpperCase()] ?? 1));
}

/** Whole megabytes of `512M`, `1.5GB`, `2TiB`, negative ones too; undefined when the text is not a size. */
export function toMegabytes(text: string): number | undefined {
  const bytes = toBytes(text);
  return bytes === undefined ? undefined : Math.trunc(bytes / UNITS["M"]!);
}

/** Bytes of a log rate: a size, -1 for no limit, or 0; undefined for anything else. */
export function toBytesPerSecond(text: string): number | undefined {
  if (text === "-1" || text === "0") return Number(text);
  const bytes = toBytes(text);
  return bytes === undefined || bytes < 0 ? undefined : bytes;
}

function unitProblem(text: string): string {
  return /^-?\d/.test(text) ? UNIT_PROBLEM : "is not a number";
}

function sizeProblem(text: string, megabytes: number | undefined): string {
  if (megabytes === undefined) return unitProblem(text);
  return megabytes < 1 ? "must be greater than 0MB" : `must be at most ${MAX_MB}MB`;
}

/** A size in whole megabytes. */
export const sizeSchema = z.union([z.string(), z.number()], { error: "is not a number" }).transform((value, ctx) => {
  const megabytes = toMegabytes(String(value));
  if (megabytes === undefined || megabytes < 1 || megabytes > MAX_MB) {
    ctx.addIssue({ code: "custom", message: sizeProblem(String(value), megabytes) });
    return z.NEVER;
  }
  return megabytes;
});

/** A log rate in bytes a second. */
export const logRateSchema = z.union([z.string(), z.number()], { error: "is not a number" }).transform((value, ctx) => {
  const bytes = toBytesPerSecond(String(value));
  if (bytes === undefined) ctx.addIssue({ code: "custom", message: unitProblem(String(value)) });
  return bytes ?? z.NEVER;
});
