// Validation of a value by its schema: types, bounds, formats, junctors, embedded objects. CEL rules are in rules.ts, list keys in lists.ts.
import type { FieldError } from "../types.ts";
import { notSupported, required } from "../field-errors.ts";
import { matches } from "../../../kube/cel/functions/strings.ts";
import { noOld, oldField, oldItems, unchanged, type Old } from "./correlate.ts";
import { junctorFault, outOfBounds, tooLongText, tooMany, typeInvalid } from "./faults.ts";
import { hasFormat } from "./formats.ts";
import { isObject, type SchemaNode } from "./structural.ts";
import { isDeepStrictEqual } from "node:util";

function child(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** All faults of a value, in the schema's order. Parts that did not change since `old` may keep theirs. */
export function validateValue(value: unknown, node: SchemaNode, path: string, old: Old): FieldError[] {
  const faults = value === null ? validateNull(node, path) : validatePresent(value, node, path, old);
  return faults.length > 0 && unchanged(value, old) ? [] : faults;
}

function validateNull(node: SchemaNode, path: string): FieldError[] {
  const type = node.types.length > 0 && !node.nullable ? [typeInvalid(path, node.types.join(","), "null")] : [];
  return [...type, ...validateEnum(null, node, path)];
}

function validatePresent(value: unknown, node: SchemaNode, path: string, old: Old): FieldError[] {
  return [
    ...validateType(value, node, path),
    ...validateJunctors(value, node, path),
    ...validateByType(value, node, path, old),
    ...validateEnum(value, node, path),
  ];
}

function validateByType(value: unknown, node: SchemaNode, path: string, old: Old): FieldError[] {
  if (typeof value === "string") return validateText(value, node, path);
  if (typeof value === "number") return validateNumber(value, node, path);
  if (Array.isArray(value)) return validateList(value, node, path, old);
  return isObject(value) ? validateObject(value, node, path, old) : [];
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

/** Where a schema has a format, kube-apiserver leaves the type of strings and lists to it, and it checks only strings. */
const isLeftToFormat = (type: string, types: string[]) =>
  (type === "string" || type === "array") && !types.includes("number") && !types.includes("integer");

/** Go's names for the formats of values. */
const GO_FORMATS: Record<string, string> = { integer: "int64", number: "float64" };

function validateType(value: unknown, node: SchemaNode, path: string): FieldError[] {
  const type = typeOf(value);
  if (node.format !== undefined && isLeftToFormat(type, node.types)) return [];
  const fits =
    node.types.length === 0 || node.types.includes(type) || (type === "integer" && node.types.includes("number"));
  if (fits) return [];
  return [
    node.format === undefined
      ? typeInvalid(path, node.types.join(","), type)
      : typeInvalid(path, node.format, GO_FORMATS[type] ?? ""),
  ];
}

function validateEnum(value: unknown, node: SchemaNode, path: string): FieldError[] {
  if (!node.enum || node.enum.some((allowed) => isDeepStrictEqual(allowed, value))) return [];
  return [
    notSupported(
      path,
      value,
      node.enum.map((allowed) => (typeof allowed === "string" ? allowed : JSON.stringify(allowed))),
    ),
  ];
}

function validateText(value: string, node: SchemaNode, path: string): FieldError[] {
  const faults: FieldError[] = [];
  const length = [...value].length;
  // At most one of these is reported.
  if (node.maxLength !== undefined && length > node.maxLength) faults.push(tooLongText(path, node.maxLength));
  else if (node.minLength !== undefined && length < node.minLength)
    faults.push(outOfBounds(path, value, `should be at least ${node.minLength} chars long`));
  else if (node.pattern !== undefined && !matches(value, node.pattern))
    faults.push(outOfBounds(path, value, `should match '${node.pattern}'`));
  if (node.format !== undefined && !hasFormat(node.format, value)) faults.push(typeInvalid(path, node.format, value));
  return faults;
}

function validateNumber(value: number, node: SchemaNode, path: string): FieldError[] {
  const faults: FieldError[] = [];
  if (node.multipleOf !== undefined && !Number.isInteger(value / node.multipleOf))
    faults.push(outOfBounds(path, value, `should be a multiple of ${node.multipleOf}`));
  return [...faults, ...validateMaximum(value, node, path), ...validateMinimum(value, node, path)];
}

function validateMaximum(value: number, { maximum, exclusiveMaximum }: SchemaNode, path: string): FieldError[] {
  if (maximum === undefined || value < maximum || (value === maximum && !exclusiveMaximum)) return [];
  return [outOfBounds(path, value, `should be less than ${exclusiveMaximum ? "" : "or equal to "}${maximum}`)];
}

function validateMinimum(value: number, { minimum, exclusiveMinimum }: SchemaNode, path: string): FieldError[] {
  if (minimum === undefined || value > minimum || (value === minimum && !exclusiveMinimum)) return [];
  return [outOfBounds(path, value, `should be greater than ${exclusiveMinimum ? "" : "or equal to "}${minimum}`)];
}

function validateList(list: unknown[], node: SchemaNode, path: string, old: Old): FieldError[] {
  const { items } = node;
  const faults: FieldError[] = [];
  if (items) {
    const before = oldItems(node, list, old);
    faults.push(...list.flatMap((item, i) => validateValue(item, items, `${path}[${i}]`, before[i] ?? noOld)));
  }
  if (node.minItems !== undefined && list.length < node.minItems)
    faults.push(outOfBounds(path, list.length, `should have at least ${node.minItems} items`));
  if (node.maxItems !== undefined && list.length > node.maxItems)
    faults.push(tooMany(path, list.length, node.maxItems));
  if (node.uniqueItems && list.some((item, i) => list.slice(0, i).some((other) => isDeepStrictEqual(item, other)))) {
    faults.push(outOfBounds(path, "", "shouldn't contain duplicates"));
  }
  return faults;
}

function validateObject(value: Record<string, unknown>, node: SchemaNode, path: string, old: Old): FieldError[] {
  const faults: FieldError[] = [];
  const size = Object.keys(value).length;
  if (node.minProperties !== undefined && size < node.minProperties)
    faults.push(outOfBounds(path, size, `should have at least ${node.minProperties} properties`));
  if (node.maxProperties !== undefined && size > node.maxProperties)
    faults.push(tooMany(path, size, node.maxProperties));
  return [...faults, ...validateFields(value, node, path, old), ...validateRequired(value, node, path)];
}

function validateFields(value: Record<string, unknown>, node: SchemaNode, path: string, old: Old): FieldError[] {
  const faults: FieldError[] = [];
  for (const [name, schema] of node.properties) {
    if (value[name] !== undefined)
      faults.push(...validateValue(value[name], schema, child(path, name), oldField(old, name)));
  }
  const { additionalProperties: values } = node;
  if (!values || values === true) return faults;
  for (const name of Object.keys(value)) {
    if (!node.properties.has(name))
      faults.push(...validateValue(value[name], values, child(path, name), oldField(old, name)));
  }
  return faults;
}

function validateRequired(value: Record<string, unknown>, node: SchemaNode, path: string): FieldError[] {
  return node.required.filter((name) => value[name] === undefined).map((name) => required(child(path, name)));
}

function validateJunctors(value: unknown, node: SchemaNode, path: string): FieldError[] {
  const faults = [
    ...validateAny(value, node.anyOf, path),
    ...validateOne(value, node.oneOf, path),
    ...validateAll(value, node.allOf, path),
  ];
  if (node.not && validateValue(value, node.not, path, noOld).length === 0)
    faults.push(junctorFault(path, "must not validate the schema (not)"));
  return faults;
}

/** The faults of the alternative that matches best. */
function nearest(outcomes: FieldError[][]): FieldError[] {
  return outcomes.reduce((best, faults) => (faults.length < best.length ? faults : best));
}

function validateAny(value: unknown, schemas: SchemaNode[], path: string): FieldError[] {
  if (schemas.length === 0) return [];
  const outcomes: FieldError[][] = [];
  for (const schema of schemas) {
    const faults = validateValue(value, schema, path, noOld);
    if (faults.length === 0) return [];
    outcomes.push(faults);
  }
  return [junctorFault(path, "must validate at least one schema (anyOf)"), ...nearest(outcomes)];
}

function validateOne(value: unknown, schemas: SchemaNode[], path: string): FieldError[] {
  if (schemas.length === 0) return [];
  const outcomes = schemas.map((schema) => validateValue(value, schema, path, noOld));
  const valid = outcomes.filter((faults) => faults.length === 0).length;
  if (valid === 1) return [];
  const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
  return [
    junctorFault(path, `must validate one and only one schema (oneOf). ${found}`),
    ...(valid === 0 ? nearest(outcomes) : []),
  ];
}

function validateAll(value: unknown, schemas: SchemaNode[], path: string): FieldError[] {
  const outcomes = schemas.map((schema) => validateValue(value, schema, path, noOld));
  if (outcomes.every((faults) => faults.length === 0)) return [];
  const noneValid = outcomes.every((faults) => faults.length > 0);
  return [
    ...outcomes.flat(),
    junctorFault(path, `must validate all the schemas (allOf)${noneValid ? ". None validated" : ""}`),
  ];
}
