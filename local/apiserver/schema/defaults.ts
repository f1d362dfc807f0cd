// Defaulting: absent fields (and nulls that may not be) get the schema's default, from the root inwards.
import { fieldSchema, isObject, type SchemaNode } from "./structural.ts";

/** Sets defaults in place. Defaults inside an object are set only where the object itself is there. */
export function applyDefaults(value: unknown, node: SchemaNode | undefined): void {
  if (!node) return;
  if (Array.isArray(value)) defaultItems(value, node.items);
  else if (isObject(value)) defaultFields(value, node);
}

function isForbiddenNull(value: unknown, node: SchemaNode | undefined): boolean {
  return value === null && node !== undefined && !node.nullable;
}

function defaultItems(list: unknown[], items: SchemaNode | undefined): void {
  for (let i = 0; i < list.length; i++) {
    if (isForbiddenNull(list[i], items) && items?.default !== undefined) list[i] = structuredClone(items.default);
    applyDefaults(list[i], items);
  }
}

function defaultFields(value: Record<string, unknown>, node: SchemaNode): void {
  for (const [name, schema] of node.properties) {
    if (schema.default === undefined) continue;
    if (value[name] === undefined || isForbiddenNull(value[name], schema))
      value[name] = structuredClone(schema.default);
  }
  for (const name of Object.keys(value)) {
    const schema = fieldSchema(node, name);
    if (isForbiddenNull(value[name], schema) && schema?.default !== undefined)
      value[name] = structuredClone(schema.default);
    applyDefaults(value[name], schema);
  }
}
