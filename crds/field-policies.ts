// Fields that need a right of their own: whoever changes them, or gives them at creation, must hold it.
import { toStructuralSchema, type SchemaNode } from "../kube/api/crd.ts";
import type { ResourceDefinition } from "../kube/api/resource.ts";
import { FIELD_RIGHTS, type FieldRight } from "./permissions.ts";
import { holds, IS_PLATFORM, resourceOf, type Policy, type Validation } from "./admission-policy.ts";

/** One policy for each kind with such fields. */
export function fieldPolicies(): Policy[] {
  const kinds = [...new Set(FIELD_RIGHTS.map((right) => right.on))];
  return kinds.map((on) => ({
    name: `${on.plural}-fields.cupola.dev`,
    resources: [resourceOf(on)],
    operations: ["CREATE", "UPDATE"],
    validations: FIELD_RIGHTS.filter((right) => right.on === on).map(validation),
  }));
}

function validation(right: FieldRight): Validation {
  const { on, subresource, fields, metadata } = right;
  const untouched = [...fields.map(unchanged), ...(metadata ? ["labels", "annotations"].map((field) => sameIn("metadata", field)) : [])];
  const plain = fields.map((field) => isDefault(on, field));
  const what = [...fields.map((field) => `spec.${field}`), ...(metadata ? ["labels, annotations"] : [])].join(", ");
  return {
    expression: `(oldObject == null ? ${all(plain)} : ${all(untouched)}) || ${mayDo(on, subresource)} || ${IS_PLATFORM}`,
    message: `changing ${what} needs the right to update ${on.plural}/${subresource}`,
    reason: "Forbidden",
  };
}

/** Rights by resourceNames are seen only when the name is given. An object that is being created may have none yet. */
function mayDo(on: ResourceDefinition, subresource: string): string {
  // A request for a cluster-scoped object has no namespace, and asking for it would be an error.
  const place = on.namespaced ? { namespace: "request.namespace" } : {};
  return holds({ group: on.group, resource: on.plural, subresource, ...place, name: "oldObject == null ? '' : oldObject.metadata.name", verb: "update" });
}

function all(conditions: readonly string[]): string {
  return `(${conditions.join(" && ")})`;
}

function unchanged(field: string): string {
  return sameIn("spec", field);
}

/** A field is the same, or absent, in both objects. `field` may be inside an optional object. */
function sameIn(part: string, field: string): string {
  const has = (object: string): string => present(`${object}.${part}`, field);
  return `${has("object")} == ${has("oldObject")} && (!${has("object")} || object.${part}.${field} == oldObject.${part}.${field})`;
}

function present(base: string, field: string): string {
  const steps = field.split(".").map((_step, at, whole) => `has(${[base, ...whole.slice(0, at + 1)].join(".")})`);
  return steps.length === 1 ? (steps[0] ?? "") : `(${steps.join(" && ")})`;
}

function find(schema: SchemaNode, field: string): SchemaNode {
  const found = field.split(".").reduce<SchemaNode | undefined>((node, step) => (node?.["properties"] as Record<string, SchemaNode> | undefined)?.[step], schema);
  if (!found) throw new Error(`no field ${field} to give a right for`);
  return found;
}

/** Of a kind's spec, as an expression: is the field left out, or what the schema would fill in? */
export function isDefault(on: ResourceDefinition, field: string): string {
  const schema = find(toStructuralSchema(on.spec, "spec"), field);
  return `(!${present("object.spec", field)} || ${equals(`object.spec.${field}`, schema["default"], schema)})`;
}

function equals(path: string, value: unknown, schema: SchemaNode): string {
  if (value === undefined) return "false";
  if (Array.isArray(value)) {
    if (value.length > 0) throw new Error(`${path}: only an empty list can be a default here`);
    return `size(${path}) == 0`;
  }
  if (typeof value === "object" && value !== null) {
    const properties = schema["properties"] as Record<string, SchemaNode>;
    return all(Object.entries(properties).map(([name, node]) => {
      const inner = (value as Record<string, unknown>)[name];
      return inner === undefined ? `!has(${path}.${name})` : equals(`${path}.${name}`, inner, node);
    }));
  }
  return `${path} == ${typeof value === "string" ? `'${value}'` : JSON.stringify(value)}`;
}
