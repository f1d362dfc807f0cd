// A constraint's parameters, by the schema of its template.
import { z } from "zod";
import type { PolicyTemplateSpec } from "./policy-template.ts";

const schemas = new WeakMap<object, z.ZodType>();

function schemaOf(schema: object): z.ZodType {
  const known = schemas.get(schema) ?? z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  schemas.set(schema, known);
  return known;
}

export type ParametersResult = { parameters: Record<string, unknown> } | { fault: string };

/** The parameters with the schema's defaults, or the first fault with its field. */
export function readParameters({ parameters: declared }: PolicyTemplateSpec, parameters: unknown): ParametersResult {
  const given = (parameters ?? {}) as Record<string, unknown>;
  if (!declared) return { parameters: given };
  const result = schemaOf(declared.schema as object).safeParse(given);
  if (result.success) return { parameters: result.data as Record<string, unknown> };
  const [issue] = result.error.issues;
  return {
    fault: `${["spec.parameters", ...(issue?.path ?? [])].map(String).join(".")}: ${issue?.message ?? "invalid"}`,
  };
}
