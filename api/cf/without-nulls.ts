// Drops the nulls of a merge patch, which remove fields, for a new object that has nothing to remove.
import { isRecord } from "../../kube/api/is-record.ts";

/** The fields with a value, at every depth. Arrays are unchanged. */
export function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([key, value]) => [key, isRecord(value) ? withoutNulls(value) : value]),
  );
}
