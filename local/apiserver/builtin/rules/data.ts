// ConfigMap and Secret: keys, sizes, what a type of Secret must have, what is immutable.
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../../../kube/api/object.ts";
import { isMap } from "../../apply/values.ts";
import type { FieldError } from "../../types.ts";
import { forbiddenField, invalidValue, required, tooLong } from "../../field-errors.ts";
import { mapOf, named, type Rule, textOf } from "./rule.ts";

const KEY = /^[-._a-zA-Z0-9]+$/;
const KEY_TEXT =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const LONGEST_KEY = 253;
const DATA_LIMIT = 1024 * 1024;

/** The problem of a key of data. */
export function configKey(key: string): string[] {
  return [
    ...(key.length > LONGEST_KEY ? [`must be no more than ${LONGEST_KEY} characters`] : []),
    ...(KEY.test(key) ? [] : [KEY_TEXT]),
    ...(key === "." || key === ".."
      ? [`must not be '${key}'`]
      : key.startsWith("..")
        ? ["must not start with '..'"]
        : []),
  ];
}

export const dataRules: Rule = (object, old) => {
  const errors: FieldError[] = [];
  let size = 0;
  for (const field of ["data", "binaryData"]) {
    for (const [key, value] of Object.entries(mapOf(object[field]))) {
      size += Buffer.byteLength(String(value), field === "binaryData" || object.kind === "Secret" ? "base64" : "utf8");
      errors.push(...named(`${field}[${key}]`, key, configKey(key)));
    }
  }
  const twice = Object.keys(mapOf(object.data)).filter((key) => Object.hasOwn(mapOf(object.binaryData), key));
  errors.push(...twice.map((key) => invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData")));
  if (size > DATA_LIMIT) errors.push(tooLong(object.kind === "Secret" ? "data" : "[]", DATA_LIMIT));
  return old?.immutable === true ? [...errors, ...immutableRules(object, old)] : errors;
};

function immutableRules(object: KubeObject, old: KubeObject): FieldError[] {
  const changed = ["data", "binaryData"].filter((field) => !isDeepStrictEqual(mapOf(object[field]), mapOf(old[field])));
  if (object.immutable !== true) changed.unshift("immutable");
  return changed.map((field) => forbiddenField(field, "field is immutable when `immutable` is set"));
}

const KEYS_OF: ReadonlyMap<string, readonly string[]> = new Map([
  ["kubernetes.io/dockerconfigjson", [".dockerconfigjson"]],
  ["kubernetes.io/dockercfg", [".dockercfg"]],
  ["kubernetes.io/tls", ["tls.crt", "tls.key"]],
  ["kubernetes.io/ssh-auth", ["ssh-privatekey"]],
]);

export const secretRules: Rule = (object, old) => {
  const type = textOf(object.type);
  const changed = old && object.type !== old.type ? [invalidValue("type", object.type, "field is immutable")] : [];
  return [...dataRules(object, old), ...changed, ...typeRules(object, type), ...dockerRules(type, mapOf(object.data))];
};

/** Required keys of a type of Secret. */
function typeRules({ data: given, metadata }: KubeObject, type: string): FieldError[] {
  const errors: FieldError[] = [];
  const data = mapOf(given);
  const isMissing = (key: string) => data[key] === undefined || (type === "kubernetes.io/ssh-auth" && data[key] === "");
  for (const key of KEYS_OF.get(type) ?? []) if (isMissing(key)) errors.push(required(`data[${key}]`));
  if (type === "kubernetes.io/basic-auth" && data.username === undefined && data.password === undefined)
    errors.push(required("data[username]"), required("data[password]"));
  if (type === "kubernetes.io/service-account-token" && !metadata.annotations?.["kubernetes.io/service-account.name"])
    errors.push(required("metadata.annotations[kubernetes.io/service-account.name]"));
  return errors;
}

/** Credentials of registries are JSON. */
function dockerRules(type: string, data: Record<string, unknown>): FieldError[] {
  const [key] = type.startsWith("kubernetes.io/dockerc") ? (KEYS_OF.get(type) ?? []) : [];
  const value = key && data[key];
  if (typeof value !== "string") return [];
  const complaint = notAnObject(Buffer.from(value, "base64").toString());
  return complaint === undefined ? [] : [invalidValue(`data[${key}]`, "<secret contents redacted>", complaint)];
}

function notAnObject(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value === null || isMap(value)
      ? undefined
      : "json: cannot unmarshal into Go value of type map[string]interface {}";
  } catch (error) {
    // The parser quotes what it read, which is secret.
    if (error instanceof SyntaxError) return "json: the text is not JSON";
    throw error;
  }
}
