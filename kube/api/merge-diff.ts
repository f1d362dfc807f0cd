// The smallest JSON merge patch (RFC 7386) between two values. Pure.
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "./is-record.ts";

/**
 * The merge patch from `live` to `wanted`, or undefined without a difference. A wanted `undefined` deletes the field.
 * Lists are replaced as a whole, as RFC 7386 requires.
 */
export function mergeDiff(live: unknown, wanted: unknown): unknown {
  if (wanted === undefined) return live === undefined ? undefined : null;
  if (!isRecord(live) || !isRecord(wanted))
    return isDeepStrictEqual(toJson(live), toJson(wanted)) ? undefined : toJson(wanted);
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(live), ...Object.keys(wanted)])) {
    const inner = mergeDiff(live[key], wanted[key]);
    if (inner !== undefined) patch[key] = inner;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** As mergeDiff for the fields named in `wanted`; others stay. */
export function mergeDiffNamed(
  live: Readonly<Record<string, unknown>> | undefined,
  wanted: Readonly<Record<string, unknown>> | undefined,
): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(wanted ?? {})) {
    const inner = mergeDiff(live?.[key], value);
    if (inner !== undefined) patch[key] = inner;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

// The server never sees undefined fields, so compare values as JSON.
function toJson(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}
