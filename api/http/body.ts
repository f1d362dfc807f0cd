// Request bodies: read whole within a bound, parsed as JSON or YAML. Multipart bodies are not read here.
import type { IncomingMessage } from "node:http";
import { isAlias, isScalar, parseAllDocuments, visit, type Document, type YAMLMap } from "yaml";
import { CFError } from "./errors.ts";

/** Largest JSON or YAML body, bytes. */
export const maxBodyBytes = 1024 * 1024;
/** Deepest nesting of a JSON or YAML body. */
const maxDepth = 64;

/**
 * Reads a body whole. Refuses a larger one as soon as its size is known, without buffering the rest.
 * @throws CFError PayloadTooLarge
 */
export async function readBody(request: IncomingMessage, signal: AbortSignal, limit = maxBodyBytes): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise<Buffer>((resolve, reject) => {
    const stop = () => reject(new CFError("BadRequest", "the body did not arrive in time"));
    signal.addEventListener("abort", stop, { once: true });
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) reject(tooLarge(limit));
      else chunks.push(chunk);
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", (cause) => reject(new CFError("BadRequest", "the body ended early", { cause })));
  });
}

function tooLarge(limit: number): CFError {
  return new CFError("PayloadTooLarge", `${Math.floor(limit / 1024)} KiB`);
}

function parseError(cause?: unknown): CFError {
  return new CFError("MessageParseError", "invalid request body", { cause });
}

/** A JSON object; an empty body counts as `{}`, as in CF. @throws CFError MessageParseError */
export function parseJson(body: Buffer): Record<string, unknown> {
  if (body.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (cause) {
    throw parseError(cause);
  }
  if (!isRecord(value) || isTooDeep(value, maxDepth)) throw parseError();
  return value;
}

/**
 * Disables the parser's checks and tags that take time quadratic in the body's length: it compares each key with all earlier ones, and
 * copies the line for each error.
 */
const yamlOptions = {
  schema: "core",
  merge: false,
  uniqueKeys: false,
  resolveKnownTags: false,
  prettyErrors: false,
  logLevel: "silent",
} as const;

/** A YAML mapping without anchors, aliases or custom tags. @throws CFError MessageParseError, BadRequest */
export function parseYaml(body: Buffer): Record<string, unknown> {
  const value = yamlDocument(decodeUtf8(body)).toJS({ maxAliasCount: 0 }) as unknown;
  if (!isRecord(value) || isTooDeep(value, maxDepth)) throw parseError();
  return value;
}

function decodeUtf8(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (cause) {
    throw parseError(cause);
  }
}

function yamlDocument(text: string): Document {
  if (isNestedTooDeep(text)) throw parseError();
  let documents: Document[];
  try {
    documents = parseAllDocuments(text, yamlOptions) as Document[];
  } catch (cause) {
    throw parseError(cause);
  }
  const [document] = documents;
  if (documents.length !== 1 || !document || document.errors.length > 0) throw parseError(document?.errors[0]);
  visit(document, {
    Alias: () => refuseAlias(),
    Node: (_key, node) => checkNode(node),
    Map: (_key, map) => {
      checkNode(map);
      checkKeys(map);
    },
  });
  return document;
}

function checkNode({ anchor, tag }: { anchor?: string | undefined; tag?: string | undefined }): void {
  if (anchor) refuseAlias();
  if (tag && !tag.startsWith("tag:yaml.org,2002:"))
    throw new CFError("BadRequest", "Manifest does not support custom tags");
}

/** Keys must be unique scalars: JSON has no list or mapping keys, and serializing one costs its whole depth. */
function checkKeys({ items }: YAMLMap): void {
  const seen = new Set<unknown>();
  for (const { key } of items) {
    if (isAlias(key)) refuseAlias();
    if (!isScalar(key)) throw parseError(new Error("Map keys must be scalars"));
    if (seen.has(key.value)) throw parseError(new Error("Map keys must be unique"));
    seen.add(key.value);
  }
}

function refuseAlias(): never {
  throw new CFError("BadRequest", "Manifest does not support Anchors and Aliases");
}

/** Counts open brackets, on which a recursive parser would overflow its stack. Quoted brackets count too; no real body quotes this many. */
function isNestedTooDeep(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth = Math.max(0, depth - 1);
    if (depth > 8 * maxDepth) return true;
  }
  return /^(?:[ \t]*[-?] ){256}/m.test(text);
}

function isTooDeep(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((child) => isTooDeep(child, left - 1));
}

/** A plain object, not an array or null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
