// Parses a package's multipart upload: bounded, streamed to the blob store, never buffered in memory.
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Busboy, type BusboyHeaders, type BusboyInstance } from "@fastify/busboy";
import { z } from "zod";
import { ArchiveRejected } from "../../blobs/archive/archive-path.ts";
import { receivePackage } from "../../blobs/package/receive-package.ts";
import type { PackageSource, Resource } from "../../blobs/package/resources.ts";
import { BlobTooLarge, limitBytes, type Blob, type BlobStore } from "../../blobs/blob-store.ts";
import { isDiskFull } from "../../kube/server/disk-full.ts";
import { CFError, unprocessable } from "../http/errors.ts";

export const MAX_PACKAGE_BYTES = 1024 * 1024 * 1024;
const MAX_RESOURCES_BYTES = 8 * 1024 * 1024;

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
const resourcesSchema = z.array(resourceSchema).max(100_000);

interface Parts {
  bits?: string;
  resources: Resource[];
}

/** Stores an upload; `sources` are further packages whose files it may reuse. @throws CFError 400, 413, 422 when it is invalid */
export async function storeUpload(
  blobs: BlobStore,
  { space, sources }: { space: string; sources: readonly PackageSource[] },
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<Blob> {
  const scratch = await mkdtemp(join(tmpdir(), "cupola-package-"));
  try {
    const { bits, resources } = await readParts(request, scratch, signal);
    if (bits === undefined && resources.length === 0)
      throw unprocessable("Upload must include either resources or bits");
    return await receivePackage(blobs, {
      space,
      sources,
      ...(bits && { bits }),
      resources,
      maxBytes: MAX_PACKAGE_BYTES,
      scratch,
    });
  } catch (error) {
    throw toRefusal(error);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function toRefusal(error: unknown): unknown {
  if (error instanceof ArchiveRejected)
    return new CFError("UnprocessableEntity", `The app package is invalid: ${error.message}`, { cause: error });
  if (error instanceof BlobTooLarge)
    return new CFError("PayloadTooLarge", `${MAX_PACKAGE_BYTES} bytes`, { cause: error });
  return error;
}

/** Parses the form, streaming the file to disk. */
async function readParts(request: IncomingMessage, scratch: string, signal: AbortSignal): Promise<Parts> {
  if (!/^multipart\/form-data\s*;/i.test(request.headers["content-type"] ?? ""))
    throw new CFError("BadRequest", "an upload is multipart/form-data with the part bits");
  const parts: Parts = { resources: [] };
  const files: { stream: Readable; fault: Promise<Error | undefined> }[] = [];
  const form = openForm(request);
  form.on("file", (name, stream) => {
    const isBits = name === "bits" || name === "application";
    const path = join(scratch, "bits.zip");
    if (isBits) parts.bits = path;
    const kept = isBits
      ? pipeline(stream, limitBytes(MAX_PACKAGE_BYTES), createWriteStream(path))
      : collectText(stream).then((text) => takeField(parts, name, text));
    files.push({ stream, fault: faultOf(kept, form) });
  });
  form.on("field", (name, value) => {
    try {
      takeField(parts, name, value);
    } catch (error) {
      form.destroy(error as Error);
    }
  });
  const formFault = await faultOf(pipeline(request, form, { signal }), form);
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
  return fault instanceof CFError || fault instanceof BlobTooLarge || isDiskFull(fault);
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
      limits: { fields: 20, files: 4, parts: 24, fieldSize: MAX_RESOURCES_BYTES, headerPairs: 50 },
    });
  } catch (cause) {
    throw new CFError("MessageParseError", "the upload is no multipart form", { cause });
  }
}

async function collectText(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream.pipe(limitBytes(MAX_RESOURCES_BYTES))) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function takeField(parts: Parts, name: string, text: string): void {
  if (name === "resources") parts.resources = toResources(text);
}

/** The `resources` part. @throws CFError 422 */
export function toResources(text: string): Resource[] {
  try {
    return resourcesSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new CFError(
      "UnprocessableEntity",
      "The app package is invalid: resources is no list of files with path, mode, checksum and size",
      { cause },
    );
  }
}
