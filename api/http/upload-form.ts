// Reads a multipart upload: the file and the list of resources, streamed to disk and bounded. Other parts are not kept: nothing of an upload stays in memory.
import { createWriteStream } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { Busboy, type BusboyHeaders, type BusboyInstance } from "@fastify/busboy";
import { BlobTooLarge, limitBytes } from "../../blobs/blob-store.ts";
import { ScratchFull, type ScratchFolder } from "../../blobs/scratch/scratch-space.ts";
import { isDiskFull } from "../../kube/server/disk-full.ts";
import { CFError } from "./errors.ts";

/** Some 60,000 files. */
const MAX_RESOURCES_BYTES = 8 * 1024 * 1024;
/** Bound of a part that nobody reads: the parser keeps it until its end. */
const MAX_FIELD_BYTES = 1024;

/** The parts of an upload. */
export interface UploadForm {
  /** The file, in the folder that the caller removes, and the name that the client gave it. */
  bits?: { path: string; filename: string };
  /** Where the part `resources` is, if there is one: JSON, in the same folder. */
  resources?: string;
}

/** How the form is read. The signal of `scratch` ends the reading; `maxBytes` bounds the file. */
export interface UploadFormOptions {
  scratch: ScratchFolder;
  maxBytes: number;
}

/** Parses the form; another body has no parts, as in CF, which then says what it misses. @throws CFError 400 for what is no form, BlobTooLarge */
export async function readUploadForm(
  request: IncomingMessage,
  { scratch, maxBytes }: UploadFormOptions,
): Promise<UploadForm> {
  if (!/^multipart\/form-data\s*;/i.test(request.headers["content-type"] ?? "")) return {};
  const parts: UploadForm = {};
  const files: { stream: Readable; fault: Promise<Error | undefined> }[] = [];
  const form = openForm(request);
  // Whoever awaits a part or the form is told. When all have given up, an error without a listener would end the process.
  form.on("error", () => undefined);
  form.on("file", (name, stream, filename) => {
    const kind = KEPT.get(name);
    // Other parts, and a second part of one name, are not kept.
    if (kind === undefined || parts[kind] !== undefined) return void stream.resume();
    const path = join(scratch.path, kind);
    // The parser's types do not say that a file may have no name.
    if (kind === "bits") parts.bits = { path, filename: (filename as string | undefined) ?? "" };
    else parts.resources = path;
    const limit = kind === "bits" ? maxBytes : MAX_RESOURCES_BYTES;
    const kept = pipeline(stream, limitBytes(limit), scratch.counted(), createWriteStream(path));
    files.push({ stream, fault: faultOf(kept, form) });
  });
  const formFault = await faultOf(pipeForm(request, form, scratch.signal), form);
  // When the form breaks off, its current part never ends by itself.
  if (formFault !== undefined) for (const { stream } of files) stream.destroy();
  const faults = [...(await Promise.all(files.map(({ fault }) => fault))), formFault].filter(
    (fault) => fault !== undefined,
  );
  if (faults.length > 0)
    throw (
      faults.find(isOurs) ??
      new CFError("MessageParseError", "the upload ended before it was whole", { cause: faults[0] })
    );
  return parts;
}

/** The parts that are kept, by name; the name of each one's file. */
const KEPT: ReadonlyMap<string, "bits" | "resources"> = new Map([
  ["bits", "bits"],
  ["application", "bits"],
  ["resources", "resources"],
]);

/** A pipeline would destroy the request at a fault, and its connection would wait for the rest of the body for ever: it is read here, and thrown away. */
async function pipeForm(
  request: IncomingMessage,
  form: BusboyInstance,
  signal: AbortSignal | undefined,
): Promise<void> {
  const options = signal ? { signal } : {};
  const parsed = finished(form, { readable: false, ...options });
  const sent = finished(request, { writable: false, ...options });
  // Whichever fails first is told.
  for (const end of [parsed, sent]) end.catch(() => undefined);
  request.pipe(form);
  try {
    await Promise.race([parsed, sent.then(() => parsed)]);
  } catch (error) {
    request.unpipe(form);
    request.resume();
    throw error;
  }
}

function isOurs(fault: unknown): boolean {
  return fault instanceof CFError || fault instanceof BlobTooLarge || fault instanceof ScratchFull || isDiskFull(fault);
}

/** The error as a value, since a part may fail before anything awaits it. Destroys the form on failure, because its writer would wait forever. */
async function faultOf(work: Promise<unknown>, form: BusboyInstance): Promise<Error | undefined> {
  try {
    await work;
    return undefined;
  } catch (thrown) {
    const fault = thrown instanceof Error ? thrown : new Error(String(thrown));
    form.destroy(fault);
    return fault;
  }
}

function openForm(request: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({
      headers: request.headers as BusboyHeaders,
      limits: { fields: 20, files: 4, parts: 24, fieldSize: MAX_FIELD_BYTES, headerPairs: 50 },
      isPartAFile: (name, contentType, filename) =>
        name === "resources" || filename !== undefined || contentType === "application/octet-stream",
    });
  } catch (cause) {
    throw new CFError("MessageParseError", "the upload is no multipart form", { cause });
  }
}
