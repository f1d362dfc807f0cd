// Checks a CRD's schema: it is structural and its rules compile. Messages that people see are kube-apiserver's.
import type { CheckSchema, FieldError, JsonSchema } from "../types.ts";
import { forbiddenField, invalidValue, notSupported, required } from "../field-errors.ts";
import { RE2JS } from "re2js";
import { checkRules } from "./check-rules.ts";
import { applyDefaults } from "./defaults.ts";
import { noOld } from "./correlate.ts";
import { prune } from "./prune.ts";
import { isObject, readSchema } from "./structural.ts";
import { validateValue } from "./validate.ts";

type Raw = Record<string, unknown>;

/** Where a schema stands: only the outer ones may carry types and extensions, those in allOf, anyOf, oneOf and not may not. */
interface Place {
  path: string;
  role: "root" | "field" | "item" | "junctor";
  /** A parent has x-kubernetes-int-or-string, under which `type` may stand in anyOf. */
  intOrString?: boolean;
}

const jsonTypes = ["array", "boolean", "integer", "number", "object", "string"];

/** Faults of a schema, with `fieldPath` in front of each field. Empty = `compileSchema` takes it. */
export const checkSchema: CheckSchema = (openAPIV3Schema, fieldPath) => {
  const faults = checkNode(openAPIV3Schema, { path: fieldPath, role: "root" });
  return faults.length > 0 ? faults : checkRules(openAPIV3Schema, fieldPath);
};

function checkNode(raw: JsonSchema, place: Place): FieldError[] {
  return [
    ...(place.role === "junctor"
      ? checkJunctor(raw, place)
      : [...checkType(raw, place), ...checkKubernetes(raw, place), ...checkDefault(raw, place)]),
    ...checkValues(raw, place),
    ...checkChildren(raw, place),
  ];
}

const emptyTypeDetail = {
  root: "must not be empty at the root",
  field: "must not be empty for specified object fields",
  item: "must not be empty for specified array items",
  junctor: "",
};

function checkType(raw: Raw, { path, role }: Place): FieldError[] {
  const { type } = raw;
  const free =
    raw["x-kubernetes-int-or-string"] === true ||
    (raw["x-kubernetes-preserve-unknown-fields"] === true && role !== "root");
  if (type === undefined || type === "") return free ? [] : [required(`${path}.type`, emptyTypeDetail[role])];
  if (role === "root" && type !== "object") return [invalidValue(`${path}.type`, type, "must be object at the root")];
  return jsonTypes.includes(String(type)) ? [] : [notSupported(`${path}.type`, type, jsonTypes)];
}

function checkKubernetes(raw: Raw, { path }: Place): FieldError[] {
  const faults: FieldError[] = [];
  const must = (when: unknown, holds: boolean, fault: () => FieldError) => {
    if (when && !holds) faults.push(fault());
  };
  must(raw["x-kubernetes-embedded-resource"], raw["type"] === "object", () =>
    invalidValue(`${path}.type`, raw["type"] ?? "", "must be object if x-kubernetes-embedded-resource is true"),
  );
  must(
    raw["x-kubernetes-embedded-resource"],
    isObject(raw["properties"]) || raw["x-kubernetes-preserve-unknown-fields"] === true,
    () =>
      required(
        `${path}.properties`,
        "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
      ),
  );
  must(isObject(raw["properties"]) && raw["additionalProperties"] !== undefined, false, () =>
    forbiddenField(`${path}.additionalProperties`, "additionalProperties and properties are mutual exclusive"),
  );
  must(raw["type"] === "array", isObject(raw["items"]), () => required(`${path}.items`, "must be specified"));
  must(raw["uniqueItems"], false, () =>
    forbiddenField(
      `${path}.uniqueItems`,
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
    ),
  );
  must(raw["$ref"], false, () => forbiddenField(`${path}.$ref`, "$ref is not supported"));
  return [...faults, ...checkList(raw, path)];
}

function checkList(raw: Raw, path: string): FieldError[] {
  const listType = raw["x-kubernetes-list-type"];
  if (listType === undefined)
    return raw["x-kubernetes-list-map-keys"]
      ? [required(`${path}.x-kubernetes-list-type`, "must be map if x-kubernetes-list-map-keys is non-empty")]
      : [];
  if (!["atomic", "set", "map"].includes(String(listType)))
    return [notSupported(`${path}.x-kubernetes-list-type`, listType, ["atomic", "map", "set"])];
  if (raw["type"] !== "array")
    return [invalidValue(`${path}.type`, raw["type"] ?? "", "must be array if x-kubernetes-list-type is specified")];
  return listType === "map" ? checkListMap(raw, path) : [];
}

function checkListMap(raw: Raw, path: string): FieldError[] {
  const keys = Array.isArray(raw["x-kubernetes-list-map-keys"]) ? (raw["x-kubernetes-list-map-keys"] as string[]) : [];
  if (keys.length === 0)
    return [required(`${path}.x-kubernetes-list-map-keys`, "must not be empty if x-kubernetes-list-type is map")];
  const items = isObject(raw["items"]) ? raw["items"] : {};
  const properties = isObject(items["properties"]) ? items["properties"] : {};
  if (items["type"] !== "object")
    return [
      invalidValue(
        `${path}.items.type`,
        items["type"] ?? "",
        "must be object if parent array's x-kubernetes-list-type is map",
      ),
    ];
  if (keys.some((key) => !isObject(properties[key])))
    return [invalidValue(`${path}.x-kubernetes-list-map-keys`, keys, "entries must all be names of item properties")];
  return keys.flatMap((key) => {
    const property = properties[key] as Raw;
    const named = Array.isArray(items["required"]) && items["required"].includes(key);
    return named || property["default"] !== undefined
      ? []
      : [
          required(
            `${path}.items.properties[${key}].default`,
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
          ),
        ];
  });
}

/** The schema must accept its own default as a whole. */
function checkDefault(raw: Raw, { path }: Place): FieldError[] {
  if (raw["default"] === undefined) return [];
  const node = readSchema(raw);
  const value = structuredClone(raw["default"]);
  const unknown = isObject(value) ? prune(value, node) : [];
  if (unknown.length > 0) return [invalidValue(`${path}.default`, raw["default"], "must not have unknown fields")];
  applyDefaults(value, node);
  return validateValue(value, node, "", noOld).map((fault) => ({
    ...fault,
    field: fault.field === "" || fault.field === "<nil>" ? `${path}.default` : `${path}.default.${fault.field}`,
  }));
}

const notInJunctors = [
  "description",
  "default",
  "additionalProperties",
  "nullable",
  "title",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-int-or-string",
];

function checkJunctor(raw: Raw, { path, intOrString }: Place): FieldError[] {
  const faults = notInJunctors
    .filter((keyword) => raw[keyword] !== undefined)
    .map((keyword) => forbiddenField(`${path}.${keyword}`, "must be undefined to be structural"));
  if (raw["type"] !== undefined && !intOrString)
    faults.push(forbiddenField(`${path}.type`, "must be empty to be structural"));
  return faults;
}

function checkValues(raw: Raw, { path }: Place): FieldError[] {
  const { pattern } = raw;
  if (pattern === undefined) return [];
  try {
    RE2JS.compile(String(pattern));
    return [];
  } catch (error) {
    return [
      invalidValue(
        `${path}.pattern`,
        pattern,
        `must be a valid regular expression, but isn't: ${error instanceof Error ? error.message : "invalid"}`,
      ),
    ];
  }
}

function checkChildren(raw: Raw, place: Place): FieldError[] {
  const { path, role } = place;
  const inner = role === "junctor";
  const faults: FieldError[] = [];
  for (const [name, property] of Object.entries(isObject(raw["properties"]) ? raw["properties"] : {})) {
    if (role === "root" && name === "metadata") faults.push(...checkMetadata(property, `${path}.properties[metadata]`));
    else
      faults.push(...checkChild(property, { path: `${path}.properties[${name}]`, role: inner ? "junctor" : "field" }));
  }
  if (isObject(raw["additionalProperties"]))
    faults.push(
      ...checkChild(raw["additionalProperties"], {
        path: `${path}.additionalProperties`,
        role: inner ? "junctor" : "field",
      }),
    );
  if (raw["items"] !== undefined)
    faults.push(...checkChild(raw["items"], { path: `${path}.items`, role: inner ? "junctor" : "item" }));
  return [...faults, ...checkJunctors(raw, place)];
}

function checkJunctors(raw: Raw, { path, intOrString }: Place): FieldError[] {
  const typed = raw["x-kubernetes-int-or-string"] === true || intOrString === true;
  const faults: FieldError[] = [];
  for (const keyword of ["allOf", "anyOf", "oneOf"]) {
    const list = Array.isArray(raw[keyword]) ? (raw[keyword] as unknown[]) : [];
    list.forEach((schema, i) =>
      faults.push(...checkChild(schema, { path: `${path}.${keyword}[${i}]`, role: "junctor", intOrString: typed })),
    );
  }
  if (raw["not"] !== undefined)
    faults.push(...checkChild(raw["not"], { path: `${path}.not`, role: "junctor", intOrString: typed }));
  return faults;
}

function checkChild(schema: unknown, place: Place): FieldError[] {
  return isObject(schema) ? checkNode(schema, place) : [invalidValue(place.path, schema, "must be an object")];
}

/** The root's metadata may only narrow the name. */
function checkMetadata(schema: unknown, path: string): FieldError[] {
  if (!isObject(schema)) return [invalidValue(path, schema, "must be an object")];
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const other = Object.keys(properties).filter((name) => name !== "name" && name !== "generateName");
  return other.length === 0
    ? []
    : [
        forbiddenField(
          path,
          "must not specify anything other than name and generateName, but metadata is implicitly specified",
        ),
      ];
}
