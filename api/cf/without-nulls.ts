// Drops the nulls of a merge patch, which remove fields, for a new object that has nothing to remove.

/** The fields with a value, at every depth. Arrays are unchanged. */
export function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([key, value]) => [key, isRecord(value) ? withoutNulls(value) : value]),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
