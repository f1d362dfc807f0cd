// Schemas whose own parse is by hand, for the sake of CF's words, and the plain schema that the OpenAPI document shows instead.
import { z } from "zod";

/** `schema` as before; the OpenAPI document shows `visible`. */
export function shownAs<T extends z.ZodType>(schema: T, visible: z.ZodType): T {
  return schema.meta(z.toJSONSchema(visible, { target: "openapi-3.0", io: "input", unrepresentable: "any" }));
}
