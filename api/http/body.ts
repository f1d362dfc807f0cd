// Request bodies: read whole within a bound, parsed as JSON, YAML or a form. Multipart bodies are not read here.
import type { IncomingMessage } from "node:http";
import { findJsonExcess } from "../../kube/api/json-bounds.ts";
import { WorkRefused } from "../../kube/server/worker-pool.ts";
import { readYaml } from "../../kube/yaml/read-yaml.ts";
import type { YamlFault } from "../../kube/yaml/yaml-to-json.ts";
import { CFError, unavailable } from "./errors.ts";
import { isRecord } from "../../kube/api/is-record.ts";

/** Largest JSON or YAML body, bytes. */
export const maxBodyBytes = 1024 * 1024;
/** Bounds of a JSON or YAML body, which keep parsing and validating it within some milliseconds. The largest bodies that clients send list 5,000 files to match. */
const BOUNDS = { depth: 64, values: 40_000, members: 10_000 };

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

function parseError(cause?: unknown, problem = "invalid request body"): CFError {
  return new CFError("MessageParseError", problem, { cause });
}

/** A JSON object; an empty body counts as `{}`, as in CF. @throws CFError MessageParseError */
export function parseJson(body: Buffer): Record<string, unknown> {
  return body.length === 0 ? {} : toRecord(decodeUtf8(body));
}

function toRecord(json: string): Record<string, unknown> {
  const excess = findJsonExcess(json, BOUNDS);
  if (excess !== undefined) throw parseError(undefined, `the body has ${excess}`);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw parseError(cause);
  }
  if (!isRecord(value)) throw parseError();
  return value;
}

/** A YAML mapping without anchors, aliases or custom tags. `caller`: large bodies of one wait for each other. @throws CFError MessageParseError, BadRequest, 503 */
export async function parseYaml(body: Buffer, caller: string): Promise<Record<string, unknown>> {
  const read = await readYaml(decodeUtf8(body), "tree", caller).catch((error: unknown) => {
    if (!(error instanceof WorkRefused)) throw error;
    throw error.reason === "too many"
      ? unavailable("You send too many manifests at once. Try again.")
      : parseError(error);
  });
  if ("fault" in read) throw toRefusal(read);
  return toRecord(read.json);
}

/** Callers are not known yet where forms are read, so a form may take little time. Tokens are within some kilobytes. */
const MAX_FORM_BYTES = 128 * 1024;
const MAX_FORM_FIELDS = 100;

/** The fields of a form (application/x-www-form-urlencoded); the last of a repeated name counts. @throws CFError MessageParseError for a large one */
export function parseForm(body: Buffer): Record<string, string> {
  const text = body.length <= MAX_FORM_BYTES ? decodeUtf8(body) : undefined;
  if (text === undefined || text.split("&", MAX_FORM_FIELDS + 1).length > MAX_FORM_FIELDS)
    throw parseError(new Error(`a form has at most ${MAX_FORM_FIELDS} fields and ${MAX_FORM_BYTES} bytes`));
  return Object.fromEntries(new URLSearchParams(text));
}

function toRefusal({ fault, message }: YamlFault): CFError {
  if (fault === "unreadable") return parseError(new Error(message));
  return new CFError(
    "BadRequest",
    fault === "alias" ? "Manifest does not support Anchors and Aliases" : "Manifest does not support custom tags",
  );
}

function decodeUtf8(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (cause) {
    throw parseError(cause);
  }
}

/** A plain object, not an array or null. */
