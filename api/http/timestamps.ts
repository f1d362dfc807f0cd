// The filters created_ats and updated_ats: timestamps in CF's format.
import { z } from "zod";

const format = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

/** A parsed timestamp filter; seconds since the epoch. */
export interface TimeFilter {
  /** Any of these whole seconds. */
  in?: readonly number[];
  lt?: number;
  lte?: number;
  gt?: number;
  gte?: number;
}

function seconds(text: string): number | undefined {
  const time = format.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(time) ? undefined : time / 1000;
}

/** A query value of exactly one timestamp, as seconds. */
export const timestampSchema = z.string().transform((text, context) => {
  const second = seconds(text);
  if (second === undefined)
    context.addIssue({
      code: "custom",
      message: "has an invalid timestamp format. Timestamps should be formatted as 'YYYY-MM-DDThh:mm:ssZ'",
    });
  return second ?? 0;
});

/** A query value of exactly one timestamp beside a comparison, as seconds. */
export const comparedTimestampSchema = z
  .string()
  .refine((text) => !text.includes(","), {
    error: "only accepts one value when using a relational operator",
    abort: true,
  })
  .pipe(timestampSchema);

/** Whether a time, in seconds, passes the filter. Times are whole seconds: `gt` means a later second, `lte` the same second or an earlier one. */
export function matchesTimeFilter(filter: TimeFilter, second: number): boolean {
  if (filter.in && !filter.in.includes(second)) return false;
  if (filter.lt !== undefined && !(second < filter.lt)) return false;
  if (filter.lte !== undefined && !(second <= filter.lte)) return false;
  if (filter.gt !== undefined && !(second > filter.gt)) return false;
  return filter.gte === undefined || second >= filter.gte;
}
