// Request bodies: bounded, JSON or YAML, objects only where objects are needed.
import type { IncomingMessage } from "node:http";
import { parse } from "yaml";
import type { KubeObject } from "../../../kube/api/object.ts";
import { isMap } from "../apply/values.ts";
import { badRequest, tooLarge, unsupportedMedia } from "../status.ts";
import { duplicateFields } from "./duplicates.ts";
import { aliasProblem } from "./yaml-aliases.ts";
import { decodeProtobuf, PROTOBUF } from "./protobuf.ts";

export const BODY_LIMIT = 3 * 1024 * 1024;
const ACCEPTED = ["application/json", "application/yaml", PROTOBUF];
/** YAML options that avoid quadratic work: no comparison of each key with all others, no such tags, no lists and maps as keys, no copied lines in errors. The last of duplicate keys wins, as in kube-apiserver. */
const YAML = {
  maxAliasCount: 100,
  merge: true,
  uniqueKeys: false,
  stringKeys: true,
  resolveKnownTags: false,
  prettyErrors: false,
  logLevel: "error",
} as const;
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

/** The whole body as text. Throws 413 beyond the limit. */
export async function readText(request: IncomingMessage): Promise<string> {
  return (await readBytes(request)).toString("utf8");
}

export function mediaTypeOf(request: IncomingMessage): string {
  return (request.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

/** JSON, or YAML where the text is not JSON. Throws 400. */
export function parseBody(text: string): unknown {
  try {
    return parseText(text);
  } catch (error) {
    if (error instanceof Unreadable) throw badRequest(`${NOT_READ}${error.message}`);
    throw error;
  }
}

/** A text that is neither JSON nor YAML. */
class Unreadable extends Error {}

const NOT_READ = "couldn't get version/kind; json parse error: ";

function parseText(text: string): unknown {
  const first = /\S/.exec(text)?.[0];
  let body: unknown;
  try {
    body = first === "{" || first === "[" ? JSON.parse(text) : parseYaml(text);
  } catch (cause) {
    // JSON first: most bodies are, and YAML would accept broken ones in surprising ways.
    const message = cause instanceof Error ? cause.message : "unreadable";
    throw new Unreadable(message.replace("Unexpected end of JSON input", "unexpected end of JSON input"), { cause });
  }
  // A text without the word and without escapes cannot contain the key.
  if (text.includes(PROTOTYPE) || text.includes("\\")) refusePrototypes(body);
  return body;
}

/** A tree, also where the text has aliases. */
function parseYaml(text: string): unknown {
  const body: unknown = parse(text, YAML);
  if (!text.includes("*")) return body;
  const problem = aliasProblem(body);
  if (problem) throw new Error(problem);
  // Each alias becomes a copy, so that a default set in one place is not set in the others.
  return JSON.parse(JSON.stringify(body)) as unknown;
}

const SHOWN = 1_000;

/** As parseBody, for an object of a kind, which the refusal names. */
function parseObject(text: string, kind: string): unknown {
  const unrecognized = (message: string) =>
    badRequest(
      `the object provided is unrecognized (must be of type ${kind}): ${NOT_READ}${message} (${text.slice(0, SHOWN) || "<empty>"})`,
    );
  if (text.trim() === "") throw unrecognized("unexpected end of JSON input");
  try {
    return parseText(text);
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
export async function readPatch(request: IncomingMessage, faults: string[]): Promise<unknown> {
  const text = await readText(request);
  try {
    const body = parseText(text);
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
export async function readObject(request: IncomingMessage, faults: string[], kind: string): Promise<KubeObject> {
  const mediaType = mediaTypeOf(request);
  if (mediaType && !ACCEPTED.includes(mediaType)) throw unsupportedMedia(ACCEPTED);
  const body =
    mediaType === PROTOBUF ? decodeProtobuf(await readBytes(request)) : await readParsed(request, faults, kind);
  if (!isMap(body)) throw badRequest("the body of the request is not an object");
  if (body.metadata !== undefined && body.metadata !== null && !isMap(body.metadata))
    throw badRequest("json: cannot unmarshal value into Go struct field .metadata of type v1.ObjectMeta");
  body.metadata ??= {};
  return body as unknown as KubeObject;
}

async function readParsed(request: IncomingMessage, faults: string[], kind: string): Promise<unknown> {
  const text = await readText(request);
  const body = parseObject(text, kind);
  noteDuplicates(text, body, faults);
  return body;
}

/** DeleteOptions may be absent. */
export async function readOptional(request: IncomingMessage): Promise<unknown> {
  const mediaType = mediaTypeOf(request);
  if (mediaType === PROTOBUF) {
    const bytes = await readBytes(request);
    return bytes.length === 0 ? undefined : decodeProtobuf(bytes);
  }
  const text = await readText(request);
  if (text.trim() === "") return undefined;
  if (mediaType && !ACCEPTED.includes(mediaType)) throw unsupportedMedia(ACCEPTED);
  return parseBody(text);
}
