// Parts that most bodies share.
import { z } from "zod";
import { cfNameProblem } from "../../crds/cf-name.ts";
import { metadataSchema } from "../cf/metadata/metadata.ts";

/** A GUID in `{ data: { guid } }`, with CF's bound. */
export const relatedGUID = z.string().min(1).max(200);

/** `{ data: { guid } }` of a body. */
export const toOneSchema = z.strictObject({ data: z.strictObject({ guid: relatedGUID }) });

/** `{ data: [{ guid }] }` of a body; at most 1000. */
export const toManySchema = z.strictObject({
  data: z.array(z.strictObject({ guid: z.string().min(1).max(255) })).max(1000),
});

/** A CF name. */
export const nameSchema = z
  .string()
  .min(1)
  .max(255)
  .regex(/[^\s]|^$/u, { error: "can't be blank", abort: true })
  .superRefine((name, context) => {
    const message = cfNameProblem(name);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });

/** The body of a PATCH that changes metadata only. */
export const metadataOnlySchema = z.strictObject({ metadata: metadataSchema.optional() });
