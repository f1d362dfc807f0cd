// A constraint's parameters, by the schema of its template.
import { z } from "zod";
import type { SchemaNode } from "../../kube/api/crd.ts";
import type { PolicyTemplateSpec } from "./policy-template.ts";
import { regexFault } from "./regex-parameters.ts";

const schemas = new WeakMap<object, z.ZodType | string>();

/** The schema ready to parse with, or why it cannot be read: a template from before a rule of lint.ts may still be in force. */
function schemaOf(schema: object): z.ZodType | string {
  const known = schemas.get(schema) ?? readSchema(schema);
  schemas.set(schema, known);
  return known;
}

function readSchema(schema: object): z.ZodType | string {
  try {
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (error) {
    return `the template's schema of parameters cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

export type ParametersResult = { parameters: Record<string, unknown> } | { fault: string };

/** The parameters with the schema's defaults, or the first fault with its field. */
export function readParameters({ parameters: declared }: PolicyTemplateSpec, parameters: unknown): ParametersResult {
  const given = (parameters ?? {}) as Record<string, unknown>;
  if (!declared) return { parameters: given };
  const schema = schemaOf(declared.schema as object);
  if (typeof schema === "string") return { fault: schema };
  const result = schema.safeParse(given);
  if (result.success) {
    const fault = regexFault(declared.schema as SchemaNode, result.data, "spec.parameters");
    return fault === undefined ? { parameters: result.data as Record<string, unknown> } : { fault };
  }
  const [issue] = result.error.issues;
  return {
    fault: `${["spec.parameters", ...(issue?.path ?? [])].map(String).join(".")}: ${issue?.message ?? "invalid"}`,
  };
}
