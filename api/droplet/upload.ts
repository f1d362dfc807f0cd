// Takes a droplet as a file: `POST /v3/droplets/:guid/upload`.
import type { IncomingMessage } from "node:http";
import { stat } from "node:fs/promises";
import { ArchiveRejected } from "../../blobs/archive/archive-path.ts";
import { BlobTooLarge, type Blob, type BlobStore } from "../../blobs/blob-store.ts";
import { receiveDroplet } from "../../blobs/droplet/receive-droplet.ts";
import { processScratch } from "../../blobs/scratch/scratch-space.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import type { DropletLocation } from "./create.ts";
import { readUploadForm, type UploadForm } from "../http/upload-form.ts";

const MAX_DROPLET_BYTES = 4 * 1024 * 1024 * 1024;

/** Stores the uploaded droplet for its place. @throws CFError 400, 413, 422; ScratchFull */
export async function storeDroplet(
  blobs: BlobStore,
  { space, place }: { space: string; place: DropletLocation },
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<Blob> {
  const scratch = await processScratch.open(space, signal);
  try {
    const { bits } = await readUploadForm(request, { scratch, maxBytes: MAX_DROPLET_BYTES });
    return await receiveDroplet(blobs, { space, place, scratch, bits: await checkFile(bits) });
  } catch (error) {
    throw toRefusal(error);
  } finally {
    await scratch.remove();
  }
}

const invalid = (problem: string, options?: { cause?: unknown }): CFError =>
  unprocessable(`Uploaded droplet file is invalid: ${problem}`, options);

async function checkFile(bits: UploadForm["bits"]): Promise<string> {
  if (!bits) throw invalid("A droplet tgz file must be uploaded as 'bits'");
  if (!/\.(?:tgz|tar\.gz)$/.test(bits.filename)) throw invalid(`${bits.filename} is not a tgz`);
  if ((await stat(bits.path)).size === 0) throw invalid(`${bits.filename} cannot be empty`);
  return bits.path;
}

function toRefusal(error: unknown): unknown {
  if (error instanceof ArchiveRejected) return invalid(error.message, { cause: error });
  if (error instanceof BlobTooLarge)
    return new CFError("PayloadTooLarge", `${MAX_DROPLET_BYTES} bytes`, { cause: error });
  return error;
}
