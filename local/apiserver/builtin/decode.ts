// Reads a typed object the way kube-apiserver's Go types do: unknown fields go (and are named), null is absent, wrong types are refused.
import type { ListView, TypeView } from "../apply/type-view.ts";
import { isMap, type JsonMap } from "../apply/values.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { dropZeros, QUANTITY } from "./canonical.ts";
import { NO_QUANTITY } from "../../../kube/cel/functions/quantities.ts";
import { TypeFault } from "./type-fault.ts";
import { badRequest } from "../status.ts";

const elementOf = (view: TypeView): TypeView | undefined => view.map?.element?.();

/** Cleans `value` in place; returns the paths of unknown fields as `unknown field "spec.foo"`. Throws TypeFault. */
export function cleanTyped(view: TypeView, value: JsonMap, path = ""): string[] {
  const faults: string[] = [];
  for (const [key, entry] of Object.entries(value)) {
    const at = path ? `${path}.${key}` : key;
    const declared = view.map?.field(key);
    const type = declared ?? elementOf(view);
    if (!type) {
      faults.push(`unknown field "${at}"`);
      delete value[key];
    } else if (entry === null) {
      // A field that is not there; in a map the zero value.
      const zero = declared ? undefined : zeroOf(type);
      if (zero === undefined) delete value[key];
      else value[key] = zero;
    } else faults.push(...cleanValue(type, entry, at));
  }
  return faults;
}

function cleanValue(view: TypeView, value: unknown, path: string): string[] {
  if (isMap(value)) {
    if (!view.map) throw mismatch("object", view, path);
    return cleanTyped(view, value, path);
  }
  if (Array.isArray(value)) {
    if (!view.list) throw mismatch("array", view, path);
    return cleanItems(view.list, value, path);
  }
  if (!view.scalar || !fits(view, value))
    throw mismatch(typeof value === "boolean" ? "bool" : typeof value, view, path);
  if (view.schema.format === "byte" && typeof value === "string") checkBase64(value, path);
  return [];
}

function cleanItems(list: ListView, items: unknown[], path: string): string[] {
  const element = list.element();
  items.forEach((item, index) => {
    if (item === null) items[index] = zeroOf(element) ?? null;
  });
  return items.flatMap((item, index) => (item === null ? [] : cleanValue(element, item, `${path}[${index}]`)));
}

const ZERO: Record<string, unknown> = { string: "", boolean: false, integer: 0, number: 0 };

/** Go reads a null in a list or map as the zero value of its type; fields of arbitrary JSON keep it. */
function zeroOf({ map, list, scalar, name }: TypeView): unknown {
  if (name === QUANTITY) return "0";
  if (scalar === "any" && map) return null;
  if (map) return {};
  return list ? [] : ZERO[scalar ?? ""];
}

function checkBase64(value: string, path: string): void {
  const digits = value.replaceAll(/[\r\n]/g, "");
  if (/^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(digits)) return;
  const at = value.search(/[^A-Za-z0-9+/\r\n=]/);
  throw new TypeFault(path, `illegal base64 data at input byte ${Math.max(at, 0)}`);
}

function fits(view: TypeView, value: unknown): boolean {
  if (view.schema.format === "int-or-string") return typeof value === "string" || isInt32(value);
  if (view.name === QUANTITY) return typeof value === "string" || typeof value === "number";
  switch (view.scalar) {
    case "string":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "integer":
      return view.schema.format === "int32" ? isInt32(value) : Number.isInteger(value);
    case "number":
      return typeof value === "number";
    default:
      return true;
  }
}

const isInt32 = (value: unknown): boolean => typeof value === "number" && value === (value | 0);

const GO_TYPE: Record<string, string> = { string: "string", boolean: "bool", number: "float64", integer: "int32" };

function mismatch(found: string, view: TypeView, path: string): TypeFault {
  if (view.name === QUANTITY) return new TypeFault(path, NO_QUANTITY);
  const wanted = view.scalar
    ? view.schema.format === "int64"
      ? "int64"
      : (GO_TYPE[view.scalar] ?? "string")
    : view.list
      ? "slice"
      : "map";
  return new TypeFault(path, `json: cannot unmarshal ${found} into Go struct field ${path} of type ${wanted}`);
}

/** Cleans a whole object of a built-in kind; throws 400 in kube-apiserver's words. */
export function decodeTyped(view: TypeView, object: KubeObject, kind: string, version: string): string[] {
  try {
    const faults = cleanTyped(view, object);
    dropZeros(view, view.name, object);
    dropEmptyMetadata(object);
    return faults;
  } catch (error) {
    if (error instanceof TypeFault)
      throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${error.message}`);
    throw error;
  }
}

const OMITTED_WHEN_EMPTY = [
  "labels",
  "annotations",
  "finalizers",
  "ownerReferences",
  "generateName",
  "selfLink",
  "namespace",
  "uid",
  "resourceVersion",
];

/** Empty means absent for these, as Go's `omitempty` has it. managedFields stay: an empty list there is a request to reset. */
export function dropEmptyMetadata(object: KubeObject): void {
  object.metadata ??= {} as KubeObject["metadata"];
  const metadata = object.metadata as unknown as JsonMap;
  for (const key of OMITTED_WHEN_EMPTY) {
    const value = metadata[key];
    if (
      value === "" ||
      (Array.isArray(value) && value.length === 0) ||
      (isMap(value) && Object.keys(value).length === 0)
    )
      delete metadata[key];
  }
}
