// Fields that need a permission of their own, to change them or to set them at creation.
import { toStructuralSchema, type SchemaNode } from "../kube/api/crd.ts";
import type { ResourceDefinition } from "../kube/api/resource.ts";
import { FIELD_PERMISSIONS, type FieldPermission } from "./role-permissions.ts";
import {
  authorizerAllows,
  CALLER_IS_PLATFORM,
  toPolicyResource,
  type AdmissionPolicy,
  type Validation,
} from "./admission-policy.ts";

/** A policy per kind that has such fields. */
export function fieldPolicies(): AdmissionPolicy[] {
  const kinds = [...new Set(FIELD_PERMISSIONS.map((right) => right.on))];
  return kinds.map((on) => ({
    name: `${on.plural}-fields.cupola.dev`,
    resources: [toPolicyResource(on)],
    operations: ["CREATE", "UPDATE"],
    validations: FIELD_PERMISSIONS.filter((right) => right.on === on).map(toValidation),
  }));
}

function toValidation(right: FieldPermission): Validation {
  const { on, subresource, fields, metadata, unless } = right;
  const untouched = [
    ...fields.map(isSpecFieldUnchanged),
    ...(metadata ? ["labels", "annotations"].map((field) => isFieldUnchanged("metadata", field)) : []),
  ];
  const defaults = fields.map((field) => isDefaultValue(on, field));
  const what = [...fields.map((field) => `spec.${field}`), ...(metadata ? ["labels, annotations"] : [])].join(", ");
  return {
    expression: `(oldObject == null ? ${allOf(defaults)} : ${allOf(untouched)}) || ${unless ? `(${unless}) || ` : ""}${canUpdateSubresource(on, subresource)} || ${CALLER_IS_PLATFORM}`,
    message: `changing ${what} needs the right to update ${on.plural}/${subresource}`,
    reason: "Forbidden",
  };
}

/** Permissions by resourceNames apply only to checks with a name. An object that is being created may have none yet. */
function canUpdateSubresource(on: ResourceDefinition, subresource: string): string {
  // A request for a cluster-scoped object has no namespace, and reading it would be an error.
  const namespace = on.namespaced ? { namespace: "request.namespace" } : {};
  return authorizerAllows({
    group: on.group,
    resource: on.plural,
    subresource,
    ...namespace,
    name: "oldObject == null ? '' : oldObject.metadata.name",
    verb: "update",
  });
}

function allOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? "true" : `(${conditions.join(" && ")})`;
}

function isSpecFieldUnchanged(field: string): string {
  return isFieldUnchanged("spec", field);
}

/** Is the field equal, or absent, in both objects? `field` may be inside an optional object. */
function isFieldUnchanged(part: string, field: string): string {
  const has = (object: string): string => hasField(`${object}.${part}`, field);
  return `${has("object")} == ${has("oldObject")} && (!${has("object")} || object.${part}.${field} == oldObject.${part}.${field})`;
}

function hasField(base: string, field: string): string {
  const steps = field.split(".").map((_step, at, whole) => `has(${[base, ...whole.slice(0, at + 1)].join(".")})`);
  return steps.length === 1 ? (steps[0] ?? "") : `(${steps.join(" && ")})`;
}

function getFieldSchema(schema: SchemaNode, field: string): SchemaNode {
  const found = field
    .split(".")
    .reduce<SchemaNode | undefined>(
      (node, step) => (node?.["properties"] as Record<string, SchemaNode> | undefined)?.[step],
      schema,
    );
  if (!found) throw new Error(`no field ${field} to give a right for`);
  return found;
}

/** CEL expression: is this field of a kind's spec absent, or equal to its default in the schema? */
export function isDefaultValue(on: ResourceDefinition, field: string): string {
  const schema = getFieldSchema(toStructuralSchema(on.spec, "spec"), field);
  return `(!${hasField("object.spec", field)} || ${equalsValue(`object.spec.${field}`, schema["default"], schema)})`;
}

function equalsValue(path: string, value: unknown, schema: SchemaNode): string {
  if (value === undefined) return schema["type"] === "boolean" ? `!${path}` : "false";
  if (Array.isArray(value)) {
    if (value.length > 0) throw new Error(`${path}: only an empty list can be a default here`);
    return `size(${path}) == 0`;
  }
  if (typeof value === "object" && value !== null) {
    const properties = schema["properties"] as Record<string, SchemaNode>;
    return allOf(
      Object.entries(properties).map(([name, node]) => {
        const inner = (value as Record<string, unknown>)[name];
        return inner === undefined ? `!has(${path}.${name})` : equalsValue(`${path}.${name}`, inner, node);
      }),
    );
  }
  return `${path} == ${typeof value === "string" ? `'${value}'` : JSON.stringify(value)}`;
}
