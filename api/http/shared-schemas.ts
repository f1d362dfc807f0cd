// Parts that most bodies share.
import { z } from "zod";
import { isBlank } from "./blank.ts";
import { cfNameProblem } from "../../crds/cf-name.ts";
import { metadataSchema } from "./metadata.ts";
import { shownAs } from "./shown-as.ts";

/** A GUID in `{ data: { guid } }`, with CF's bound. */
export const relatedGUID = z.string().min(1).max(200);

const LENGTH = "must be between 1 and 200 characters";

/** A GUID of a body that is no relationship; `subject` is what CF calls it, `Package guid`. */
export function guidOf(subject: string, { isRequired }: { isRequired: boolean }) {
  const wrong = `must be a string, ${subject} ${LENGTH}`;
  const blank = isRequired ? `can't be blank, ${subject} ${wrong}` : wrong;
  const empty = isRequired ? `can't be blank, ${subject} ${LENGTH}` : LENGTH;
  return z
    .string({ error: ({ input }) => (isBlank(input) ? blank : wrong) })
    .min(1, empty)
    .max(200, LENGTH);
}

/** `schema`, and what CF's `allow_blank` takes besides: null and every empty value, which count as `instead`. */
export function blankAs<T extends z.ZodType>(schema: T, instead: z.output<T> | undefined) {
  const taken = z.preprocess((value) => (isBlank(value) ? instead : value), schema.optional());
  return shownAs(taken, schema.nullable()).optional();
}

/** Relationships that a body may leave out, but not give without any of them. */
export function optionalRelationships<const T extends z.core.$ZodLooseShape>(shape: T) {
  return z
    .strictObject(shape)
    .refine((given) => Object.keys(given).length > 0, "'relationships' must include one or more valid relationships")
    .optional();
}

/** `{ data: { guid } }` of a body. */
export const toOneSchema = z.strictObject({ data: z.strictObject({ guid: relatedGUID }) });

/** `{ data: [{ guid }] }` in a body's relationships; at most 1000. */
export const toManySchema = z.strictObject({
  data: z.array(z.strictObject({ guid: z.string().min(1).max(255) })).max(1000),
});

/** `{ data: [{ guid }] }` as a body: at least one, at most 1000. */
export const addToManySchema = z.strictObject({
  data: z
    .array(z.strictObject({ guid: z.string().min(1).max(255) }), {
      error: ({ input }) => (isBlank(input) ? "can't be blank, Data must be an array" : undefined),
    })
    .min(1, "can't be blank")
    .max(1000),
});

/** A text that CF misses and expects to be a text, both at once; `subject` is what CF calls it. */
export function requiredText(subject: string) {
  return z.string({
    error: ({ input }) => (isBlank(input) ? `can't be blank, ${subject} must be a string` : undefined),
  });
}

/** A CF name; `absent` is what CF says when there is none. */
const nameWith = (absent: string) =>
  z
    .string({ error: ({ input }) => (input === undefined || input === null ? absent : undefined) })
    .min(1)
    .max(255)
    .regex(/[^\s]|^$/u, { error: "can't be blank", abort: true })
    .superRefine((name, context) => {
      const message = cfNameProblem(name);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    });

/** A CF name. */
export const nameSchema = nameWith("can't be blank");
/** An app's name: CF says something else of none. */
export const appNameSchema = nameWith("must be a string");

/** The body of a PATCH that changes metadata only. */
export const metadataOnlySchema = z.strictObject({ metadata: metadataSchema.optional() });
