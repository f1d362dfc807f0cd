// Parses query strings as CF does: decodes comma lists twice, defines the parameters of every list, refuses unknown ones.
import { z } from "zod";
import { parseLabelSelector, type LabelMatcher } from "../cf/metadata/label-selector.ts";
import { timestampSchema, type TimeFilter } from "./timestamps.ts";

/** The raw query: each name as sent, brackets included; the last of a repeated name counts. */
export function rawQuery(url: string): Record<string, string> {
  const start = url.indexOf("?");
  return start < 0 ? {} : Object.fromEntries(new URLSearchParams(url.slice(start + 1)));
}

/** Decodes once more, so that an escaped comma inside a name survives. Returns text with an invalid escape unchanged. */
function decodeTwice(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone % is an ordinary character here
  }
}

function splitList(text: string): string[] {
  return text.split(/,\s*/).map(decodeTwice);
}

/** A schema of a parameter, with what the OpenAPI document says of it: to the API every parameter is text. */
function shown<T extends z.ZodType>(schema: T, query: object): T {
  return schema.meta({ query });
}

const listOf = (items: object): object => ({ type: "array", items });

/** A comma list of any strings. The empty string is a list of one empty string. */
export const csv = shown(z.string().transform(splitList), listOf({ type: "string" }));

/** A comma list of known words; `problem` describes an unknown word or an invalid list. */
function csvOfKnown<const Word extends string>(
  words: readonly Word[],
  problem: (
    list: readonly string[],
    unknown: string | undefined,
  ) => { message: string; params?: { whole: true } } | undefined,
) {
  const isKnown = (word: string): word is Word => (words as readonly string[]).includes(word);
  const known = csv.transform((list, context): Word[] => {
    const found = problem(
      list,
      list.find((word) => !isKnown(word)),
    );
    if (found) context.addIssue({ code: "custom", ...found });
    return list.filter(isKnown);
  });
  return shown(known, listOf({ type: "string", enum: words }));
}

/** A comma list of known words. */
export function csvEnum<const Word extends string>(...words: readonly Word[]) {
  return csvOfKnown(words, (_list, unknown) =>
    unknown === undefined ? undefined : { message: `can only contain the following: ${words.join(", ")}` },
  );
}

/** A comma list of integers. */
export const csvIntegers = shown(
  csv.pipe(
    z.array(
      z
        .string()
        .regex(/^-?\d{1,15}$/, "must be a list of integers")
        .transform(Number),
    ),
  ),
  listOf({ type: "integer" }),
);

/** `true` or `false`. */
export const booleanText = shown(
  z.enum(["true", "false"], { error: "must be one of 'true', 'false'" }).transform((text) => text === "true"),
  { type: "boolean" },
);

/** `include=a,b`: known words, each once. */
export function include<const Word extends string>(...words: readonly Word[]) {
  const valid = words.map((word) => `'${word}'`).join(", ");
  return csvOfKnown(words, (list, unknown) => {
    if (unknown !== undefined)
      return {
        message: `Invalid included resource: '${unknown}'. Valid included resources are: ${valid}`,
        params: { whole: true },
      };
    const again = list.find((word, at) => list.indexOf(word) !== at);
    return again === undefined
      ? undefined
      : { message: `Duplicate included resource: '${again}'`, params: { whole: true } };
  });
}

function positiveInteger(max: number) {
  const problem = max === Infinity ? "must be a positive integer" : `must be between 1 and ${max}`;
  const schema = z
    .string()
    .regex(/^\d{1,9}$/, problem)
    .transform(Number)
    .refine((n) => n >= 1 && n <= max, problem);
  return shown(schema, { type: "integer", minimum: 1, ...(max !== Infinity && { maximum: max }) });
}

const labelSelector = z.string().transform((text, context): LabelMatcher => {
  const parsed = parseLabelSelector(text);
  if (typeof parsed === "function") return parsed;
  context.addIssue({ code: "custom", message: parsed.problem, params: { whole: true } });
  return z.NEVER;
});

/** The paging parameters of every list. */
export const pagingParameters = {
  page: positiveInteger(Infinity).default(1),
  per_page: positiveInteger(5000).default(50),
};

/** The filters of that time: a list of whole seconds, and comparisons. */
export function timeParameters<Name extends string>(name: Name) {
  const time = { type: "string", format: "date-time" };
  const one = shown(timestampSchema, time).optional();
  return {
    [name]: shown(csv.pipe(z.array(timestampSchema)), listOf(time)).optional(),
    [`${name}[lt]`]: one,
    [`${name}[lte]`]: one,
    [`${name}[gt]`]: one,
    [`${name}[gte]`]: one,
  };
}

/** The common fields of a parsed list query. */
export interface ListParameters {
  page: number;
  per_page: number;
  order_by?: string;
  guids?: string[];
  label_selector?: LabelMatcher;
}

/**
 * The schema of a list's query: paging, order_by over created_at, updated_at and `orders`, guids, both time filters, label_selector
 * (unless `labels` is false), and the list's own `filters`. Unknown parameters are refused.
 */
export function listQuery<Filters extends z.ZodRawShape>(
  filters: Filters,
  options: { orders?: readonly string[]; labels?: boolean } = {},
) {
  const orders = ["created_at", "updated_at", ...(options.orders ?? [])];
  const allowed = orders.flatMap((order) => [order, `+${order}`, `-${order}`]);
  const parameters: z.ZodRawShape = {
    ...pagingParameters,
    order_by: z.enum(allowed, { error: `can only be: ${orders.map((order) => `'${order}'`).join(", ")}` }).optional(),
    guids: csv.optional(),
    ...(options.labels === false ? {} : { label_selector: labelSelector.optional() }),
    ...timeParameters("created_ats"),
    ...timeParameters("updated_ats"),
    ...filters,
  };
  return z.strictObject(
    parameters as typeof pagingParameters & {
      order_by: z.ZodOptional<z.ZodString>;
      guids: z.ZodOptional<typeof csv>;
      label_selector: z.ZodOptional<typeof labelSelector>;
    } & Filters,
  );
}

/** The time filter of that name in a parsed list query. */
export function timeFilter(query: object, name: "created_ats" | "updated_ats"): TimeFilter | undefined {
  const values = query as Record<string, unknown>;
  const filter: TimeFilter = {
    in: values[name] as number[] | undefined,
    lt: values[`${name}[lt]`] as number | undefined,
    lte: values[`${name}[lte]`] as number | undefined,
    gt: values[`${name}[gt]`] as number | undefined,
    gte: values[`${name}[gte]`] as number | undefined,
  };
  return Object.values(filter).some((value) => value !== undefined) ? filter : undefined;
}
