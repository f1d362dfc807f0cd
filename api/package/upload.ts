// Parses a package's multipart upload: bounded, streamed to the blob store, never buffered in memory.
import type { IncomingMessage } from "node:http";
import { ArchiveRejected } from "../../blobs/archive/archive-path.ts";
import { receivePackage } from "../../blobs/package/receive-package.ts";
import type { PackageSource } from "../../blobs/package/resources.ts";
import { BlobTooLarge, type Blob, type BlobStore } from "../../blobs/blob-store.ts";
import { processScratch } from "../../blobs/scratch/scratch-space.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { readUploadForm } from "../http/upload-form.ts";
import { readResources } from "./resources-part.ts";

export const MAX_PACKAGE_BYTES = 1024 * 1024 * 1024;

/** Stores an upload; `sources` are further packages whose files it may reuse. @throws CFError 400, 413, 422 when it is invalid */
export async function storeUpload(
  blobs: BlobStore,
  { space, sources }: { space: string; sources: readonly PackageSource[] },
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<Blob> {
  const scratch = await processScratch.open(space, signal);
  try {
    const { bits, resources: listed } = await readUploadForm(request, { scratch, maxBytes: MAX_PACKAGE_BYTES });
    const resources = listed === undefined ? [] : await readResources(listed);
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
