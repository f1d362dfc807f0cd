// Sizes as people type them.
import { Failure } from "../failure.ts";

const SIZE = /^(\d+(?:\.\d+)?)(b|[kmgt]i?b?)$/i;
const FACTORS: Record<string, number> = { b: 1 / 1024 ** 2, k: 1 / 1024, m: 1, g: 1024, t: 1024 * 1024 };

/** 256M, 1.5G, 2GB → whole megabytes. @throws Failure (usage) */
export function toMegabytes(text: string): number {
  const [, count, unit] = SIZE.exec(text) ?? [];
  const factor = FACTORS[unit?.charAt(0).toLowerCase() ?? ""];
  if (!count || factor === undefined) throw new Failure(`"${text}" is no size: write 256M or 1G`, { kind: "usage" });
  return Math.trunc(Number(count) * factor);
}
