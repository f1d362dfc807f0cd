// Whether a merge patch says something new. Pure.
import { isDeepStrictEqual } from "node:util";

/** Whether the merge patch would change anything. A list is replaced as a whole, so that an empty one is a change, too. */
export function differs(patch: Record<string, unknown>, current: Record<string, unknown>): boolean {
  return Object.entries(patch).some(([key, value]) => {
    const before = current[key];
    if (value === null) return before !== undefined;
    if (typeof value !== "object" || Array.isArray(value)) return !isDeepStrictEqual(value, before);
    return before === undefined || differs(value as Record<string, unknown>, before as Record<string, unknown>);
  });
}
