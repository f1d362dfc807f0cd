// Pruning: removes fields that the schema does not name, as kube-apiserver does when it reads an object.
import { fieldSchema, isObject, type SchemaNode } from "./structural.ts";

const typeAndMeta = new Set(["apiVersion", "kind", "metadata"]);

interface Found {
  unknown: string[];
}

function child(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Removes unknown fields in place and returns their paths, sorted. The root's apiVersion, kind and metadata stay. */
export function prune(object: Record<string, unknown>, root: SchemaNode): string[] {
  const found: Found = { unknown: [] };
  pruneValue(object, root.embedded ? root : { ...root, embedded: true }, "", found);
  return found.unknown.sort();
}

function pruneValue(value: unknown, node: SchemaNode | undefined, path: string, found: Found): void {
  if (node?.preserveUnknown) keepUnknown(value, node, path, found);
  else if (Array.isArray(value)) value.forEach((item, i) => pruneValue(item, node?.items, `${path}[${i}]`, found));
  else if (isObject(value)) pruneObject(value, node, path, found);
}

function pruneObject(value: Record<string, unknown>, node: SchemaNode | undefined, path: string, found: Found): void {
  for (const name of Object.keys(value)) {
    if (node?.embedded && typeAndMeta.has(name)) continue;
    if (node?.properties.has(name) || node?.additionalProperties) pruneField(value, name, node, { path, found });
    else drop(value, name, path, found);
  }
}

function pruneField(
  value: Record<string, unknown>,
  name: string,
  node: SchemaNode,
  at: { path: string; found: Found },
): void {
  const schema = fieldSchema(node, name);
  if (schema || node.additionalProperties !== true) pruneValue(value[name], schema, child(at.path, name), at.found);
}

function drop(value: Record<string, unknown>, name: string, path: string, found: Found): void {
  found.unknown.push(child(path, name));
  delete value[name];
}

/** Under x-kubernetes-preserve-unknown-fields: unknown fields stay, named ones are pruned by their own schema. */
function keepUnknown(value: unknown, node: SchemaNode, path: string, found: Found): void {
  if (Array.isArray(value)) {
    const { items } = node;
    if (items) value.forEach((item, i) => keepUnknown(item, items, `${path}[${i}]`, found));
    return;
  }
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) {
    if (node.embedded && typeAndMeta.has(name)) continue;
    const schema = fieldSchema(node, name);
    if (schema) pruneValue(value[name], schema, child(path, name), found);
  }
}

/** Removes nulls that the schema neither allows nor replaces by a default. @returns whether there were any. */
export function pruneNulls(value: unknown, node: SchemaNode | undefined): boolean {
  if (Array.isArray(value)) return value.map((item) => pruneNulls(item, node?.items)).includes(true);
  if (!isObject(value)) return false;
  let isPruned = false;
  for (const [name, inner] of Object.entries(value)) {
    const schema = fieldSchema(node, name);
    if (inner === null && schema && !schema.nullable && schema.default === undefined) {
      delete value[name];
      isPruned = true;
    } else if (pruneNulls(inner, schema)) isPruned = true;
  }
  return isPruned;
}
