// Parses a package's multipart upload: bounded, streamed to the blob store, never buffered in memory.
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { ArchiveRejected } from "../../blobs/archive/archive-path.ts";
import { receivePackage } from "../../blobs/package/receive-package.ts";
import type { PackageSource, Resource } from "../../blobs/package/resources.ts";
import { BlobTooLarge, type Blob, type BlobStore } from "../../blobs/blob-store.ts";
import { processScratch } from "../../blobs/scratch/scratch-space.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { readUploadForm } from "../http/upload-form.ts";

export const MAX_PACKAGE_BYTES = 1024 * 1024 * 1024;

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

/** Stores an upload; `sources` are further packages whose files it may reuse. @throws CFError 400, 413, 422 when it is invalid */
export async function storeUpload(
  blobs: BlobStore,
  { space, sources }: { space: string; sources: readonly PackageSource[] },
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<Blob> {
  const scratch = await processScratch.open(space, signal);
  try {
    const { bits, fields } = await readUploadForm(request, { scratch, maxBytes: MAX_PACKAGE_BYTES });
    const resources = fields["resources"] === undefined ? [] : toResources(fields["resources"]);
    if (bits === undefined && resources.length === 0)
      throw unprocessable("Upload must include either resources or bits");
    return await receivePackage(blobs, {
      space,
      sources,
      ...(bits && { bits: bits.path }),
      resources,
      maxBytes: MAX_PACKAGE_BYTES,
      scratch,
    });
  } catch (error) {
    throw toRefusal(error);
  } finally {
    await scratch.remove();
  }
}

function toRefusal(error: unknown): unknown {
  if (error instanceof ArchiveRejected)
    return new CFError("UnprocessableEntity", `The app package is invalid: ${error.message}`, { cause: error });
  if (error instanceof BlobTooLarge)
    return new CFError("PayloadTooLarge", `${MAX_PACKAGE_BYTES} bytes`, { cause: error });
  return error;
}

/** The `resources` part. @throws CFError 422 */
export function toResources(text: string): Resource[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (cause) {
    throw new CFError("UnprocessableEntity", "Resources must be valid JSON.", { cause });
  }
  try {
    return resourcesSchema.parse(list);
  } catch (cause) {
    throw new CFError(
      "UnprocessableEntity",
      "The app package is invalid: resources is no list of files with path, mode, checksum and size",
      { cause },
    );
  }
}
