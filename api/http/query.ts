// Parses query strings as CF does: decodes comma lists twice, defines the parameters of every list, refuses unknown ones.
import { z } from "zod";
import { parseLabelSelector, type LabelMatcher } from "./label-selector.ts";
import { comparedTimestampSchema, timestampSchema, type TimeFilter } from "./timestamps.ts";

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

/** A comma list of words that are one of `words`, or match nothing, as in CF. */
export function csvOf<const Word extends string>(...words: readonly Word[]) {
  return shown(csv, listOf({ type: "string", enum: words }));
}

/** Accepts only these words; any other is refused as `problem` says. */
export function oneOf<const Word extends string>(words: readonly Word[], problem: (text: string) => string) {
  const known = z.string().transform((text, context): Word => {
    const word = words.find((one) => one === text);
    if (word === undefined) context.addIssue({ code: "custom", message: problem(text), params: { whole: true } });
    return word ?? z.NEVER;
  });
  return shown(known, { type: "string", enum: words });
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
  z.enum(["true", "false"], { error: "must be 'true' or 'false'" }).transform((text) => text === "true"),
  { type: "boolean" },
);

/** A comma list of known words, each once; `kind` is what CF calls them: `included`, `embedded`. */
function resources<const Word extends string>(kind: string, words: readonly Word[]) {
  const isKnown = (word: string): word is Word => (words as readonly string[]).includes(word);
  const problem = (list: readonly string[]): string | undefined => {
    const unknown = list.find((word) => !isKnown(word));
    if (unknown !== undefined)
      return `Invalid ${kind} resource: '${unknown}'. Valid ${kind} resources are: ${words.map((word) => `'${word}'`).join(", ")}`;
    const again = list.find((word, at) => list.indexOf(word) !== at);
    return again === undefined ? undefined : `Duplicate ${kind} resource: '${again}'`;
  };
  const known = csv.transform((list, context): Word[] => {
    const message = problem(list);
    if (message !== undefined) context.addIssue({ code: "custom", message, params: { whole: true } });
    return list.filter(isKnown);
  });
  return shown(known, listOf({ type: "string", enum: words }));
}

/** `include=a,b`. */
export function include<const Word extends string>(...words: readonly Word[]) {
  return resources("included", words);
}

/** `embed=a,b`. */
export function embed<const Word extends string>(...words: readonly Word[]) {
  return resources("embedded", words);
}

/** `order_by` over these; a blank value counts as none, as in CF. */
export function orderBy(...orders: readonly string[]) {
  const allowed = orders.flatMap((order) => [order, `+${order}`, `-${order}`]);
  const problem = `can only be: ${orders.map((order) => `'${order}'`).join(", ")}`;
  const schema = z
    .string()
    .refine((text) => text.trim() === "" || allowed.includes(text), problem)
    .transform((text) => (text.trim() === "" ? undefined : text));
  return shown(schema, { type: "string", enum: allowed }).optional();
}

function positiveInteger(max: number) {
  const schema = z
    .string()
    .regex(/^0*[1-9]\d{0,8}$/, "must be a positive integer")
    .transform(Number)
    .refine((n) => n <= max, `must be between 1 and ${max}`);
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
  const one = shown(comparedTimestampSchema, time).optional();
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
  const parameters: z.ZodRawShape = {
    ...pagingParameters,
    order_by: orderBy("created_at", "updated_at", ...(options.orders ?? [])),
    guids: csv.optional(),
    ...(options.labels === false ? {} : { label_selector: labelSelector.optional() }),
    ...timeParameters("created_ats"),
    ...timeParameters("updated_ats"),
    ...filters,
  };
  return z.strictObject(
    parameters as typeof pagingParameters & {
      order_by: ReturnType<typeof orderBy>;
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
