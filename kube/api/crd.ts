// Converts a resource definition to a CustomResourceDefinition with a structural schema. Unsupported zod features are rejected.
import { z } from "zod";
import type { KubeObject } from "./object.ts";
import type { PrinterColumn, ResourceDefinition } from "./resource.ts";

/** A structural OpenAPI v3 schema, as a CRD holds it. */
export type SchemaNode = Record<string, unknown>;

/** Keywords of a structural schema that say which values are valid, and what they mean. */
export const STRUCTURAL_KEYWORDS: ReadonlySet<string> = new Set([
  "type",
  "description",
  "format",
  "default",
  "enum",
  "nullable",
  "properties",
  "required",
  "items",
  "additionalProperties",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "maxProperties",
  "minProperties",
  "pattern",
]);
const FORMATS_WITH_PATTERN = new Set(["date-time", "uuid"]);

/** Builds the CRD of a kind. @throws Error that names the field which a structural schema cannot express */
export function toCustomResourceDefinition(definition: ResourceDefinition): KubeObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${definition.plural}.${definition.group}` },
    spec: {
      group: definition.group,
      scope: definition.namespaced ? "Namespaced" : "Cluster",
      names: {
        kind: definition.kind,
        listKind: `${definition.kind}List`,
        plural: definition.plural,
        singular: definition.singular,
        ...(definition.shortNames.length > 0 && { shortNames: [...definition.shortNames] }),
        ...(definition.categories.length > 0 && { categories: [...definition.categories] }),
      },
      versions: [toVersion(definition)],
    },
  };
}

function toVersion(definition: ResourceDefinition): SchemaNode {
  return {
    name: definition.version,
    served: true,
    storage: true,
    subresources: { status: {}, ...(definition.scale && { scale: definition.scale }) },
    additionalPrinterColumns: definition.columns.map(toColumn),
    ...(definition.selectableFields.length > 0 && {
      selectableFields: definition.selectableFields.map((jsonPath) => ({ jsonPath })),
    }),
    schema: { openAPIV3Schema: toObjectSchema(definition) },
  };
}

function toColumn(column: PrinterColumn): SchemaNode {
  return {
    name: column.name,
    type: column.type ?? "string",
    jsonPath: column.jsonPath,
    ...(column.description && { description: column.description }),
    ...(column.wide && { priority: 1 }),
  };
}

function toObjectSchema(definition: ResourceDefinition): SchemaNode {
  const spec = withDescription(toStructuralSchema(definition.spec, "spec"), "Desired state.");
  // An optional spec needs a default: server-side apply drops an empty map, so `spec: {}` could not be applied twice.
  const mayBeEmpty = spec["required"] === undefined;
  return {
    type: "object",
    description: definition.description,
    ...(!mayBeEmpty && { required: ["spec"] }),
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: mayBeEmpty ? { ...spec, default: {} } : spec,
      status: withDescription(
        toStructuralSchema(definition.status, "status"),
        "Observed state. Only controllers write it.",
      ),
    },
    ...(definition.rules.length > 0 && { "x-kubernetes-validations": definition.rules }),
  };
}

/** Adds a description for `kubectl explain` when the schema has none. */
function withDescription(schema: SchemaNode, description: string): SchemaNode {
  return { ...schema, description: schema["description"] ?? description };
}

/** The structural schema of a zod schema. `path` is the field path for errors. */
export function toStructuralSchema(schema: z.ZodType, path: string): SchemaNode {
  return structural(z.toJSONSchema(schema, { target: "openapi-3.0", io: "input" }) as SchemaNode, path);
}

function structural(node: SchemaNode, path: string): SchemaNode {
  const out: SchemaNode = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === "propertyNames" || isRedundant(key, value, node)) continue;
    if (!STRUCTURAL_KEYWORDS.has(key) && !key.startsWith("x-kubernetes-"))
      throw new Error(`${path}: a structural schema cannot hold "${key}"`);
    out[key] = value;
  }
  if (out["type"] === undefined && !out["x-kubernetes-preserve-unknown-fields"] && !out["x-kubernetes-int-or-string"]) {
    throw new Error(`${path}: every field of a structural schema needs a type`);
  }
  return { ...out, ...children(node, path) };
}

function children(node: SchemaNode, path: string): SchemaNode {
  const out: SchemaNode = {};
  const properties = node["properties"] as Record<string, SchemaNode> | undefined;
  if (properties)
    out["properties"] = Object.fromEntries(
      Object.entries(properties).map(([name, child]) => [name, structural(child, `${path}.${name}`)]),
    );
  if (node["items"]) out["items"] = structural(node["items"] as SchemaNode, `${path}[]`);
  if (node["additionalProperties"])
    out["additionalProperties"] = structural(node["additionalProperties"] as SchemaNode, `${path}{}`);
  return out;
}

/** Output of zod that a CRD must not or need not contain. */
function isRedundant(key: string, value: unknown, node: SchemaNode): boolean {
  if (key === "additionalProperties") return value === false;
  if (key === "minimum" || key === "maximum") return Math.abs(value as number) === Number.MAX_SAFE_INTEGER;
  return key === "pattern" && FORMATS_WITH_PATTERN.has(String(node["format"]));
}
