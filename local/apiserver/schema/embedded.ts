// x-kubernetes-embedded-resource: objects inside objects. Their metadata is cleaned and checked like that of any object.
import type { KubeObject } from "../../../kube/api/object.ts";
import { cleanTyped, dropEmptyMetadata } from "../builtin/decode.ts";
import { TypeFault } from "../builtin/type-fault.ts";
import { builtinView, OBJECT_META } from "../builtin/schemas.ts";
import type { FieldError } from "../types.ts";
import { invalidValue, required } from "../field-errors.ts";
import { validateEmbeddedMetadata } from "../registry/metadata.ts";
import { label1035Name } from "../registry/names.ts";
import { childPath } from "./lists.ts";
import { fieldSchema, isObject, type SchemaNode } from "./structural.ts";

type Visit = (value: Record<string, unknown>, path: string) => void;

/** Every embedded object below a value. */
function visitEmbedded(value: unknown, node: SchemaNode | undefined, path: string, visit: Visit): void {
  if (!node) return;
  if (Array.isArray(value)) return value.forEach((item, i) => visitEmbedded(item, node.items, `${path}[${i}]`, visit));
  if (!isObject(value)) return;
  if (node.embedded && path !== "") visit(value, path);
  for (const name of Object.keys(value))
    visitEmbedded(value[name], fieldSchema(node, name), childPath(node, path, name), visit);
}

/** Whether a schema has embedded objects, so that others need no walk. */
export function hasEmbedded(node: SchemaNode | undefined): boolean {
  if (!node) return false;
  const below = [
    node.items,
    node.additionalProperties === true ? undefined : node.additionalProperties,
    ...node.properties.values(),
  ];
  return node.embedded || below.some(hasEmbedded);
}

/** Cleans the metadata of embedded objects in place; returns the paths of unknown fields. Throws TypeFault on what has a wrong type. */
export function cleanEmbedded(object: unknown, root: SchemaNode): string[] {
  const unknown: string[] = [];
  visitEmbedded(object, root, "", (value, path) => {
    for (const field of ["apiVersion", "kind"]) {
      if (field in value && typeof value[field] !== "string")
        throw new TypeFault(path, `${path}.${field}: Invalid value: ${JSON.stringify(value[field])}: must be a string`);
    }
    if ("metadata" in value) unknown.push(...cleanMetadata(value, path));
  });
  return unknown.sort();
}

/** As cleanEmbedded, after a typed merge: nulls are possible, values of a wrong type are not. */
export function cleanEmbeddedMetadata(object: unknown, root: SchemaNode): void {
  visitEmbedded(object, root, "", (value, path) => void ("metadata" in value && cleanMetadata(value, path)));
}

function cleanMetadata(value: Record<string, unknown>, path: string): string[] {
  value.metadata ??= {};
  const shown = JSON.stringify(value.metadata);
  try {
    if (!isObject(value.metadata))
      throw new TypeFault(path, "json: cannot unmarshal into Go value of type v1.ObjectMeta");
    const unknown = cleanTyped(builtinView(OBJECT_META), value.metadata, `${path}.metadata`);
    dropEmptyMetadata(value as unknown as KubeObject);
    return unknown.map((fault) => fault.replace(/^unknown field "(.*)"$/, "$1"));
  } catch (error) {
    if (error instanceof TypeFault)
      throw new TypeFault(path, `${path}.metadata: Invalid value: ${shown}: ${error.message}`);
    throw error;
  }
}

/** Faults of embedded objects: apiVersion, kind and metadata must be valid. */
export function validateEmbedded(object: unknown, root: SchemaNode): FieldError[] {
  const faults: FieldError[] = [];
  visitEmbedded(object, root, "", (value, path) => {
    for (const field of ["apiVersion", "kind"]) {
      if (!(field in value)) faults.push(required(`${path}.${field}`));
      else if (typeof value[field] !== "string")
        faults.push(invalidValue(`${path}.${field}`, value[field], "must be a string"));
    }
    if (typeof value.apiVersion === "string") faults.push(...versionFaults(value.apiVersion, `${path}.apiVersion`));
    if (typeof value.kind === "string") faults.push(...kindFaults(value.kind, `${path}.kind`));
    if (isObject(value.metadata))
      faults.push(...validateEmbeddedMetadata(value.metadata as unknown as KubeObject["metadata"], `${path}.metadata`));
  });
  return faults;
}

function versionFaults(version: string, path: string): FieldError[] {
  if (version === "") return [invalidValue(path, version, "must not be empty")];
  return version.split("/").length > 2
    ? [invalidValue(path, version, `unexpected GroupVersion string: ${version}`)]
    : [];
}

function kindFaults(kind: string, path: string): FieldError[] {
  if (kind === "") return [invalidValue(path, kind, "must not be empty")];
  const faults = label1035Name(kind.toLowerCase(), false);
  return faults.length > 0
    ? [invalidValue(path, kind, `may have mixed case, but should otherwise match: ${faults.join(",")}`)]
    : [];
}
