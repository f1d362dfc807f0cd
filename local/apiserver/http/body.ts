// Request bodies: bounded, JSON or YAML, objects only where objects are needed.
import type { IncomingMessage } from "node:http";
import { findJsonExcess } from "../../../kube/api/json-bounds.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { WorkRefused } from "../../../kube/server/worker-pool.ts";
import { readYaml } from "../../../kube/yaml/read-yaml.ts";
import { isMap } from "../apply/values.ts";
import { badRequest, tooLarge, tooManyRequests, unsupportedMedia } from "../status.ts";
import { duplicateFields } from "./duplicates.ts";
import { decodeProtobuf, PROTOBUF } from "./protobuf.ts";

export const BODY_LIMIT = 3 * 1024 * 1024;
const ACCEPTED = ["application/json", "application/yaml", PROTOBUF];
/** Bound of the values of a body: validating one and tracking its manager costs up to ten microseconds. */
const VALUES = 10_000;
/** Administrators describe resources, in schemas of up to 50,000 values. */
const SCHEMA_VALUES = 200_000;
const BOUNDS = { depth: 512, members: 5_000 };
const PROTOTYPE = "__proto__";

/** The whole body. Throws 413 beyond the limit. */
async function readBytes(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > BODY_LIMIT) throw tooLarge(BODY_LIMIT);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_LIMIT) throw tooLarge(BODY_LIMIT);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A request, who sent it (large YAML texts of one user wait for each other), and the resource that its body is of. */
export interface Sent {
  request: IncomingMessage;
  user: { name: string };
  info: { resource: string };
}

interface Reader {
  caller: string;
  values: number;
}

function readerOf({ user, info }: Sent): Reader {
  return { caller: user.name, values: info.resource === "customresourcedefinitions" ? SCHEMA_VALUES : VALUES };
}

/** The whole body as text. Throws 413 beyond the limit. */
async function readText(request: IncomingMessage): Promise<string> {
  return (await readBytes(request)).toString("utf8");
}

export function mediaTypeOf(request: IncomingMessage): string {
  return (request.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

/** JSON, or YAML where the text is not JSON. Throws 400. */
export async function parseBody(text: string, reader: Reader): Promise<unknown> {
  try {
    return await parseText(text, reader);
  } catch (error) {
    if (error instanceof Unreadable) throw badRequest(`${NOT_READ}${error.message}`);
    throw error;
  }
}

/** A text that is neither JSON nor YAML. */
class Unreadable extends Error {}

const NOT_READ = "couldn't get version/kind; json parse error: ";

async function parseText(text: string, { caller, values }: Reader): Promise<unknown> {
  const first = /\S/.exec(text)?.[0];
  // JSON first: most bodies are, and YAML would accept broken ones in surprising ways.
  const json = first === "{" || first === "[" ? text : await toJson(text, caller);
  const excess = findJsonExcess(json, { ...BOUNDS, values });
  if (excess !== undefined) throw new Unreadable(`the text has ${excess}`);
  let body: unknown;
  try {
    body = JSON.parse(json);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : "unreadable";
    throw new Unreadable(message.replace("Unexpected end of JSON input", "unexpected end of JSON input"), { cause });
  }
  // A text without the word and without escapes cannot contain the key.
  if (json.includes(PROTOTYPE) || json.includes("\\")) refusePrototypes(body);
  return body;
}

async function toJson(yaml: string, caller: string): Promise<string> {
  const read = await readYaml(yaml, "kubernetes", caller).catch((error: unknown) => {
    if (!(error instanceof WorkRefused)) throw error;
    throw error.reason === "too many" ? tooManyRequests() : new Unreadable(error.message, { cause: error });
  });
  if ("fault" in read) throw new Unreadable(read.message);
  return read.json;
}

const SHOWN = 1_000;

/** As parseBody, for an object of a kind, which the refusal names. */
async function parseObject(text: string, kind: string, reader: Reader): Promise<unknown> {
  const unrecognized = (message: string) =>
    badRequest(
      `the object provided is unrecognized (must be of type ${kind}): ${NOT_READ}${message} (${text.slice(0, SHOWN) || "<empty>"})`,
    );
  if (text.trim() === "") throw unrecognized("unexpected end of JSON input");
  try {
    return await parseText(text, reader);
  } catch (error) {
    if (error instanceof Unreadable) throw unrecognized(error.message);
    throw error;
  }
}

/** Copying a field of this name from object to object would set a prototype. */
function refusePrototypes(value: unknown): void {
  const left = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== "object" || next === null) continue;
    if (Object.hasOwn(next, PROTOTYPE)) throw badRequest(`a field may not be named ${PROTOTYPE}`);
    for (const inner of Object.values(next)) if (typeof inner === "object" && inner !== null) left.push(inner);
  }
}

/** The parsed body of a patch; fields that JSON gives twice go to `faults`. */
export async function readPatch(sent: Sent, faults: string[]): Promise<unknown> {
  const text = await readText(sent.request);
  try {
    const body = await parseText(text, readerOf(sent));
    noteDuplicates(text, body, faults);
    return body;
  } catch (error) {
    if (error instanceof Unreadable) throw badRequest(`error decoding patch: ${error.message}`);
    throw error;
  }
}

function noteDuplicates(text: string, body: unknown, faults: string[]): void {
  if (/^\s*[{[]/.test(text)) faults.push(...duplicateFields(text, body));
}

/** An object from the body of a create or update; fields given twice go to `faults`. Throws 400, 413, 415. @param kind what it should be, for refusals. */
export async function readObject(sent: Sent, faults: string[], kind: string): Promise<KubeObject> {
  const { request } = sent;
  const mediaType = mediaTypeOf(request);
  if (mediaType && !ACCEPTED.includes(mediaType)) throw unsupportedMedia(ACCEPTED);
  const body = mediaType === PROTOBUF ? decodeProtobuf(await readBytes(request)) : await readParsed(sent, faults, kind);
  if (!isMap(body)) throw badRequest("the body of the request is not an object");
  if (body.metadata !== undefined && body.metadata !== null && !isMap(body.metadata))
    throw badRequest("json: cannot unmarshal value into Go struct field .metadata of type v1.ObjectMeta");
  body.metadata ??= {};
  return body as unknown as KubeObject;
}

async function readParsed(sent: Sent, faults: string[], kind: string): Promise<unknown> {
  const text = await readText(sent.request);
  const body = await parseObject(text, kind, readerOf(sent));
  noteDuplicates(text, body, faults);
  return body;
}

/** DeleteOptions may be absent. */
export async function readOptional(sent: Sent): Promise<unknown> {
  const { request } = sent;
  const mediaType = mediaTypeOf(request);
  if (mediaType === PROTOBUF) {
    const bytes = await readBytes(request);
    return bytes.length === 0 ? undefined : decodeProtobuf(bytes);
  }
  const text = await readText(request);
  if (text.trim() === "") return undefined;
  if (mediaType && !ACCEPTED.includes(mediaType)) throw unsupportedMedia(ACCEPTED);
  return parseBody(text, readerOf(sent));
}
