// Parts that most bodies share.
import { z } from "zod";
import { metadataSchema } from "../cf/metadata.ts";

/** `{ data: { guid } }` of a body. */
export const toOneSchema = z.strictObject({ data: z.strictObject({ guid: z.string().min(1).max(255) }) });

/** `{ data: [{ guid }] }` of a body; at most 1000. */
export const toManySchema = z.strictObject({
  data: z.array(z.strictObject({ guid: z.string().min(1).max(255) })).max(1000),
});

/** A CF name: something, not too long, printable. */
export const nameSchema = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, "must not contain escaped characters")
  .regex(/[^\s]|^$/u, "can't be blank");

/** The body of a PATCH that changes metadata only. */
export const metadataOnlySchema = z.strictObject({ metadata: metadataSchema.optional() });
