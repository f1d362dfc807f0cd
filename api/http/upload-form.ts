// Reads a multipart upload: one file, streamed to disk and bounded, and short text fields.
import { createWriteStream } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy, type BusboyHeaders, type BusboyInstance } from "@fastify/busboy";
import { BlobTooLarge, limitBytes } from "../../blobs/blob-store.ts";
import { ScratchFull, type ScratchFolder } from "../../blobs/scratch/scratch-space.ts";
import { isDiskFull } from "../../kube/server/disk-full.ts";
import { CFError } from "./errors.ts";

const MAX_FIELD_BYTES = 8 * 1024 * 1024;

/** The parts of an upload. */
export interface UploadForm {
  /** The file, in the folder that the caller removes, and the name that the client gave it. */
  bits?: { path: string; filename: string };
  /** Other parts, as text. */
  fields: Record<string, string>;
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
  if (!/^multipart\/form-data\s*;/i.test(request.headers["content-type"] ?? "")) return { fields: {} };
  const parts: UploadForm = { fields: {} };
  const files: { stream: Readable; fault: Promise<Error | undefined> }[] = [];
  const form = openForm(request);
  form.on("file", (name, stream, filename) => {
    const isBits = name === "bits" || name === "application";
    const path = join(scratch.path, "bits");
    // The parser's types do not say that a file may have no name.
    if (isBits) parts.bits = { path, filename: (filename as string | undefined) ?? "" };
    const kept = isBits
      ? pipeline(stream, limitBytes(maxBytes), scratch.counted(), createWriteStream(path))
      : collectText(stream).then((text) => void (parts.fields[name] = text));
    files.push({ stream, fault: faultOf(kept, form) });
  });
  form.on("field", (name, value) => void (parts.fields[name] = value));
  const formFault = await faultOf(pipeline(request, form, scratch.signal ? { signal: scratch.signal } : {}), form);
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
    });
  } catch (cause) {
    throw new CFError("MessageParseError", "the upload is no multipart form", { cause });
  }
}

async function collectText(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream.pipe(limitBytes(MAX_FIELD_BYTES))) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
