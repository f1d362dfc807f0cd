// Reads request bodies in Kubernetes' protobuf form: what typed Go clients (also kubectl's) send. Answers are always JSON.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { builtinSchemas, schemaOfKind } from "../builtin/schemas.ts";
import { badRequest } from "../status.ts";

export const PROTOBUF = "application/vnd.kubernetes.protobuf";
const MAGIC = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
const MOST_DEPTH = 100;

type Json = Record<string, unknown>;
type Message = Record<string, [name: string, type: string]>;

let loaded: Record<string, Message> | undefined;
const messages = () =>
  (loaded ??= JSON.parse(readFileSync(join(import.meta.dirname, "../builtin/messages.json"), "utf8")) as Record<
    string,
    Message
  >);

/** A field on the wire. */
interface Field {
  number: number;
  /** Value of wire types 0, 1 and 5. */
  value: bigint;
  /** Bytes of wire type 2. */
  bytes: Buffer;
  wire: number;
}

function* fieldsOf(buffer: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    let result = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = buffer[at++];
      if (byte === undefined) break;
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return result;
    }
    throw badRequest("the protobuf body is broken: unexpected end");
  };
  while (at < buffer.length) {
    const tag = varint();
    const wire = Number(tag & 7n);
    const number = Number(tag >> 3n);
    const empty = { number, wire, value: 0n, bytes: Buffer.alloc(0) };
    if (wire === 0) yield { ...empty, value: varint() };
    else if (wire === 2) {
      const length = Number(varint());
      if (at + length > buffer.length) throw badRequest("the protobuf body is broken: unexpected end");
      yield { ...empty, bytes: buffer.subarray(at, (at += length)) };
    } else if (wire === 1 || wire === 5) {
      const length = wire === 1 ? 8 : 4;
      if (at + length > buffer.length) throw badRequest("the protobuf body is broken: unexpected end");
      yield { ...empty, bytes: buffer.subarray(at, (at += length)) };
    } else throw badRequest(`the protobuf body is broken: wire type ${wire}`);
  }
}

function scalar(type: string, field: Field): unknown {
  switch (type) {
    case "string":
      return field.bytes.toString("utf8");
    case "bytes":
      return field.bytes.toString("base64");
    case "bool":
      return field.value !== 0n;
    case "double":
      return field.bytes.readDoubleLE(0);
    case "float":
      return field.bytes.readFloatLE(0);
    case "uint32":
    case "uint64":
      return Number(BigInt.asUintN(64, field.value));
    default:
      return Number(BigInt.asIntN(64, field.value));
  }
}

const META = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";

/** First value of each field, for messages whose JSON form is their own. */
function raw(buffer: Buffer): Map<number, Field> {
  return new Map([...fieldsOf(buffer)].map((field) => [field.number, field]));
}

function timeText(buffer: Buffer, digits: number): string | undefined {
  const fields = raw(buffer);
  const seconds = Number(BigInt.asIntN(64, fields.get(1)?.value ?? 0n));
  const nanos = Number(fields.get(2)?.value ?? 0n);
  if (seconds === 0 && nanos === 0 && fields.size === 0) return undefined;
  const whole = new Date(seconds * 1_000).toISOString().slice(0, 19);
  return digits === 0 ? `${whole}Z` : `${whole}.${String(Math.floor(nanos / 1_000)).padStart(6, "0")}Z`;
}

function jsonText(buffer: Buffer): unknown {
  const text = raw(buffer).get(1)?.bytes.toString("utf8");
  try {
    return text ? JSON.parse(text) : undefined;
  } catch (error) {
    throw badRequest(`the protobuf body carries broken JSON: ${error instanceof Error ? error.message : ""}`);
  }
}

/** Messages with a JSON form of their own. */
const SPECIAL: Record<string, (buffer: Buffer, depth: number) => unknown> = {
  [`${META}Time`]: (buffer) => timeText(buffer, 0),
  [`${META}MicroTime`]: (buffer) => timeText(buffer, 6),
  [`${META}FieldsV1`]: jsonText,
  "io.k8s.apimachinery.pkg.runtime.RawExtension": jsonText,
  [`${EXTENSIONS}JSON`]: jsonText,
  "io.k8s.apimachinery.pkg.api.resource.Quantity": (buffer) => raw(buffer).get(1)?.bytes.toString("utf8") ?? "0",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": (buffer) => {
    const fields = raw(buffer);
    return fields.get(1)?.value === 1n
      ? (fields.get(3)?.bytes.toString("utf8") ?? "")
      : Number(BigInt.asIntN(32, fields.get(2)?.value ?? 0n));
  },
  [`${EXTENSIONS}JSONSchemaPropsOrBool`]: (buffer, depth) => {
    const fields = raw(buffer);
    const schema = fields.get(2);
    return schema ? decodeMessage(`${EXTENSIONS}JSONSchemaProps`, schema.bytes, depth) : fields.get(1)?.value === 1n;
  },
  [`${EXTENSIONS}JSONSchemaPropsOrArray`]: (buffer, depth) => {
    const schema = raw(buffer).get(1);
    return schema
      ? decodeMessage(`${EXTENSIONS}JSONSchemaProps`, schema.bytes, depth)
      : [...fieldsOf(buffer)].map((field) => decodeMessage(`${EXTENSIONS}JSONSchemaProps`, field.bytes, depth));
  },
  "io.k8s.api.authentication.v1.ExtraValue": (buffer) =>
    [...fieldsOf(buffer)].map((field) => field.bytes.toString("utf8")),
  "io.k8s.api.authorization.v1.ExtraValue": (buffer) =>
    [...fieldsOf(buffer)].map((field) => field.bytes.toString("utf8")),
};

function single(type: string, field: Field, depth: number): unknown {
  const special = SPECIAL[type];
  if (special) return special(field.bytes, depth);
  return type.includes(".") ? decodeMessage(type, field.bytes, depth) : scalar(type, field);
}

function decodeMessage(name: string, buffer: Buffer, depth: number): Json {
  if (depth > MOST_DEPTH) throw badRequest("exceeded max depth");
  const message = messages()[name] ?? {};
  const out: Json = {};
  for (const field of fieldsOf(buffer)) {
    const known = message[field.number];
    if (known) put(out, known, field, depth + 1);
  }
  const required = (builtinSchemas()[name]?.required ?? []) as string[];
  for (const [, [field, type]] of Object.entries(message))
    if (isNoValue(out[field], type) && !required.includes(field)) delete out[field];
  return out;
}

/** Go clients send zero for every number and flag that is not behind a pointer; their JSON form leaves it out. */
function isNoValue(value: unknown, type: string): boolean {
  return !type.startsWith("*") && (value === 0 || value === false);
}

function put(out: Json, [name, type]: [string, string], field: Field, depth: number): void {
  if (type.startsWith("map:")) {
    const entry = raw(field.bytes);
    const key = text(entry.get(1));
    const value = entry.get(2) ?? { number: 2, wire: 2, value: 0n, bytes: Buffer.alloc(0) };
    if (key !== "__proto__") ((out[name] ??= {}) as Json)[key] = single(type.slice(4), value, depth);
  } else if (type.startsWith("[]")) {
    const value = single(type.slice(2), field, depth);
    // Lists of ExtraValue and the like are lists already.
    ((out[name] ??= []) as unknown[]).push(value);
  } else putOne(out, [name, type], single(type.replace("*", ""), field, depth));
}

/** A field without a name is an embedded struct. */
function putOne(out: Json, [name, type]: [string, string], value: unknown): void {
  if (name === "") Object.assign(out, value);
  else if (value !== undefined && (value !== "" || type.startsWith("*"))) out[name] = value;
}

/** The object in a protobuf body. Throws 400 on anything but a known kind. */
export function decodeProtobuf(body: Buffer): Json {
  if (!body.subarray(0, 4).equals(MAGIC)) throw badRequest("the body is not in Kubernetes' protobuf form");
  const unknown = raw(body.subarray(4));
  const meta = raw(unknown.get(1)?.bytes ?? Buffer.alloc(0));
  const apiVersion = text(meta.get(1));
  const kind = text(meta.get(2));
  const name = messageOf(apiVersion, kind);
  if (name === undefined)
    throw badRequest(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
  return { apiVersion, kind, ...decodeMessage(name, unknown.get(2)?.bytes ?? Buffer.alloc(0), 0) };
}

const text = (field: Field | undefined) => field?.bytes.toString("utf8") ?? "";

function messageOf(apiVersion: string, kind: string): string | undefined {
  const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return schemaOfKind(group, version, kind);
}
