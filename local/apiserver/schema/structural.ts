// A CRD's OpenAPI schema, read once into the shape that pruning, defaulting and validation walk.
import type { JsonSchema } from "../types.ts";

/** An `x-kubernetes-validations` entry. */
export interface ValidationRule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

/** A node of a schema. Absent keywords are undefined. */
export interface SchemaNode {
  /** JSON types that are allowed; empty when any is. An int-or-string node has both of its types. */
  types: string[];
  /** The `type` keyword as written. */
  type: string | undefined;
  format: string | undefined;
  nullable: boolean;
  properties: Map<string, SchemaNode>;
  /** Schema of the values of a map; `true` when anything goes. */
  additionalProperties: SchemaNode | true | undefined;
  items: SchemaNode | undefined;
  preserveUnknown: boolean;
  embedded: boolean;
  intOrString: boolean;
  listType: "set" | "map" | "atomic" | undefined;
  listMapKeys: string[];
  default: unknown;
  enum: unknown[] | undefined;
  required: string[];
  pattern: string | undefined;
  minLength: number | undefined;
  maxLength: number | undefined;
  minimum: number | undefined;
  maximum: number | undefined;
  exclusiveMinimum: boolean;
  exclusiveMaximum: boolean;
  multipleOf: number | undefined;
  minItems: number | undefined;
  maxItems: number | undefined;
  uniqueItems: boolean;
  minProperties: number | undefined;
  maxProperties: number | undefined;
  allOf: SchemaNode[];
  anyOf: SchemaNode[];
  oneOf: SchemaNode[];
  not: SchemaNode | undefined;
  rules: ValidationRule[];
}

type Raw = Record<string, unknown>;

function isRecord(value: unknown): value is Raw {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads a schema in which `checkSchema` found no fault. Ignores unknown keywords. */
export function readSchema(schema: JsonSchema): SchemaNode {
  return { ...readShape(schema), ...readKubernetes(schema), ...readBounds(schema), ...readJunctors(schema) };
}

function readShape(raw: Raw) {
  const type = text(raw["type"]);
  const intOrString = raw["x-kubernetes-int-or-string"] === true;
  return {
    type,
    types: intOrString ? ["integer", "string"] : type === undefined ? [] : [type],
    format: text(raw["format"]),
    nullable: raw["nullable"] === true,
    properties: new Map(
      Object.entries(isRecord(raw["properties"]) ? raw["properties"] : {}).map(([name, schema]) => [
        name,
        readSchema(schema as JsonSchema),
      ]),
    ),
    additionalProperties: readAdditional(raw["additionalProperties"]),
    items: isRecord(raw["items"]) ? readSchema(raw["items"]) : undefined,
    default: raw["default"],
    enum: Array.isArray(raw["enum"]) ? raw["enum"] : undefined,
    required: strings(raw["required"]),
  };
}

function readAdditional(value: unknown): SchemaNode | true | undefined {
  return isRecord(value) ? readSchema(value) : value === true ? true : undefined;
}

function readKubernetes(raw: Raw) {
  const listType = text(raw["x-kubernetes-list-type"]);
  return {
    preserveUnknown: raw["x-kubernetes-preserve-unknown-fields"] === true,
    embedded: raw["x-kubernetes-embedded-resource"] === true,
    intOrString: raw["x-kubernetes-int-or-string"] === true,
    listType: listType as SchemaNode["listType"],
    listMapKeys: strings(raw["x-kubernetes-list-map-keys"]),
    rules: Array.isArray(raw["x-kubernetes-validations"]) ? (raw["x-kubernetes-validations"] as ValidationRule[]) : [],
  };
}

function readBounds(raw: Raw) {
  return {
    pattern: text(raw["pattern"]),
    minLength: number(raw["minLength"]),
    maxLength: number(raw["maxLength"]),
    minimum: number(raw["minimum"]),
    maximum: number(raw["maximum"]),
    exclusiveMinimum: raw["exclusiveMinimum"] === true,
    exclusiveMaximum: raw["exclusiveMaximum"] === true,
    multipleOf: number(raw["multipleOf"]),
    minItems: number(raw["minItems"]),
    maxItems: number(raw["maxItems"]),
    uniqueItems: raw["uniqueItems"] === true,
    minProperties: number(raw["minProperties"]),
    maxProperties: number(raw["maxProperties"]),
  };
}

function readJunctors(raw: Raw) {
  return {
    allOf: schemas(raw["allOf"]),
    anyOf: schemas(raw["anyOf"]),
    oneOf: schemas(raw["oneOf"]),
    not: isRecord(raw["not"]) ? readSchema(raw["not"]) : undefined,
  };
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const number = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
const schemas = (value: unknown): SchemaNode[] => (Array.isArray(value) ? value.filter(isRecord).map(readSchema) : []);

/** The schema of a named field: a property, or a map's value. */
export function fieldSchema(node: SchemaNode | undefined, name: string): SchemaNode | undefined {
  const property = node?.properties.get(name);
  if (property) return property;
  return node?.additionalProperties === true ? undefined : node?.additionalProperties;
}

export function isObject(value: unknown): value is Raw {
  return isRecord(value);
}
