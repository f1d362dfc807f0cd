// Parameters that rules use as regular expressions: strings with `format: regex`. The API server refuses bad ones by a rule in the constraint's kind, all other doors by the same RE2.
import type { SchemaNode } from "../../kube/api/crd.ts";
import { patternFault } from "../../kube/cel/functions/strings.ts";

/** JSON Schema's name. An API server knows no such format. */
export const REGEX = "regex";

/** An expression that cannot be evaluated refuses the object. */
const RULE = { rule: "''.matches(self) in [true, false]", message: "must be a regular expression that RE2 takes" };

/** A schema of parameters as the constraint's kind has it: in place of the format, a rule that the API server evaluates. */
export function toServedSchema({ format, ...node }: SchemaNode): SchemaNode {
  return {
    ...mapChildren(node),
    ...(format !== undefined && format !== REGEX && { format }),
    ...(format === REGEX && { "x-kubernetes-validations": [RULE] }),
  };
}

function mapChildren(node: SchemaNode): SchemaNode {
  const { properties, items, additionalProperties, ...rest } = node;
  return {
    ...rest,
    ...(isObject(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, child]) => [name, toServedSchema(child as SchemaNode)]),
      ),
    }),
    ...(isObject(items) && { items: toServedSchema(items) }),
    ...(isObject(additionalProperties) && { additionalProperties: toServedSchema(additionalProperties) }),
  };
}

/** The first parameter that is no regular expression, with its place; undefined when there is none. */
export function regexFault(schema: SchemaNode, value: unknown, path: string): string | undefined {
  if (schema["format"] === REGEX && typeof value === "string") {
    const fault = patternFault(value);
    return fault && `${path}: ${RULE.message}: ${fault}`;
  }
  for (const [name, child, schemaOfChild] of childrenOf(schema, value)) {
    const fault = regexFault(schemaOfChild, child, `${path}.${name}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

type Child = [name: string, value: unknown, schema: SchemaNode];

function childrenOf({ properties, items, additionalProperties }: SchemaNode, value: unknown): Child[] {
  if (Array.isArray(value)) return isObject(items) ? value.map((one, index): Child => [String(index), one, items]) : [];
  if (!isObject(value)) return [];
  const known = isObject(properties) ? properties : {};
  return Object.entries(value).flatMap(([name, one]): Child[] => {
    const schema = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    return isObject(schema) ? [[name, one, schema]] : [];
  });
}

function isObject(value: unknown): value is SchemaNode {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
