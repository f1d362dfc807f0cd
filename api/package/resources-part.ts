// Reads the `resources` part of an upload, a list of files as JSON, without holding the event loop: a list of 60,000 files is parsed entry by entry.
import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Resource } from "../../blobs/package/resources.ts";
import { endOfString } from "../../kube/api/json-bounds.ts";
import { createLoopBreaks } from "../../kube/server/loop-breaks.ts";
import { CFError } from "../http/errors.ts";

const MOST_RESOURCES = 100_000;
/** Bound of one entry, which has a path and a few short members. */
const MOST_CHARACTERS = 16 * 1024;

const resourceSchema = z
  .union([
    z.object({
      path: z.string(),
      mode: z.string().default("644"),
      checksum: z.object({ value: z.string() }),
      size_in_bytes: z.int().min(0),
    }),
    z.object({ fn: z.string(), mode: z.string().default("644"), sha1: z.string(), size: z.int().min(0) }),
  ])
  .transform((entry): Resource =>
    "path" in entry
      ? { path: entry.path, mode: entry.mode, sha1: entry.checksum.value, size: entry.size_in_bytes }
      : { path: entry.fn, mode: entry.mode, sha1: entry.sha1, size: entry.size },
  );

/** @throws CFError 422 */
export async function readResources(path: string): Promise<Resource[]> {
  return parseResources(await readFile(path, "utf8"));
}

/** @throws CFError 422 */
export async function parseResources(text: string): Promise<Resource[]> {
  const resources: Resource[] = [];
  const takeBreak = createLoopBreaks();
  for (const item of itemsOf(text)) {
    if (resources.length === MOST_RESOURCES) throw noList();
    resources.push(toResource(item));
    await takeBreak();
  }
  return resources;
}

const noJson = (cause?: unknown): CFError =>
  new CFError("UnprocessableEntity", "Resources must be valid JSON.", { cause });
const noList = (cause?: unknown): CFError =>
  new CFError(
    "UnprocessableEntity",
    "The app package is invalid: resources is no list of files with path, mode, checksum and size",
    { cause },
  );

function toResource(item: string): Resource {
  let value: unknown;
  try {
    value = JSON.parse(item);
  } catch (cause) {
    throw noJson(cause);
  }
  const parsed = resourceSchema.safeParse(value);
  if (!parsed.success) throw noList(parsed.error);
  return parsed.data;
}

/** The texts of a list's items, which may be no JSON themselves. */
function* itemsOf(text: string): Generator<string> {
  let at = text.search(/\S/);
  if (text[at] !== "[") throw isShortJson(text) ? noList() : noJson();
  const isEmpty = /^\s*\[\s*\]/.test(text.slice(0, MOST_CHARACTERS));
  while (!isEmpty && text[at] !== "]" && at < text.length) {
    const start = at + 1;
    at = endOfItem(text, start);
    yield text.slice(start, at);
  }
  if (!isEmpty && !/^\]\s*$/.test(text.slice(at))) throw noJson();
}

const LEVELS: Readonly<Record<string, number>> = { "{": 1, "[": 1, "}": -1, "]": -1 };

/** Where the comma or bracket is that ends the item. */
function endOfItem(text: string, start: number): number {
  let level = 0;
  for (let at = start; at < text.length; at++) {
    const mark = text[at] ?? "";
    if (at - start > MOST_CHARACTERS) throw noList();
    if (level === 0 && (mark === "," || mark === "]")) return at;
    if (mark === '"') at = endOfString(text, at);
    else level += LEVELS[mark] ?? 0;
  }
  return text.length;
}

function isShortJson(text: string): boolean {
  try {
    return text.length > MOST_CHARACTERS || JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}
