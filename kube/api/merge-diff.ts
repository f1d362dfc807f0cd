// The smallest JSON merge patch (RFC 7386) between two values. Pure.
import { isDeepStrictEqual } from "node:util";

/**
 * The merge patch that turns `live` into `wanted`, or undefined when there is no difference. A wanted `undefined` means absent.
 * Lists are replaced whole, as the format demands.
 */
export function mergeDiff(live: unknown, wanted: unknown): unknown {
  if (wanted === undefined) return live === undefined ? undefined : null;
  if (!isMap(live) || !isMap(wanted))
    return isDeepStrictEqual(toJson(live), toJson(wanted)) ? undefined : toJson(wanted);
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(live), ...Object.keys(wanted)])) {
    const inner = mergeDiff(live[key], wanted[key]);
    if (inner !== undefined) patch[key] = inner;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** As mergeDiff, but only for the named fields: what `wanted` does not name stays. */
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

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// What JSON would keep: fields that are undefined do not exist on the server.
function toJson(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}
