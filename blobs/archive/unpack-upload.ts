// Unpacks an archive that somebody sent: all that is wrong with it is said to the sender.
import type { Readable } from "node:stream";
import { BlobTooLarge } from "../blob-store.ts";
import { isArchiveFault, isConflict } from "./archive-fault.ts";
import { ArchiveRejected, UNPACK_RATIO } from "./archive-path.ts";
import { unpackTar, type UnpackOptions } from "./tar.ts";

/** An archive of a client: `packedBytes` is its size. */
interface UploadOptions extends UnpackOptions {
  packedBytes?: number;
}

/** As unpackTar, of a file that a client sent: what is wrong with the archive is the client's fault. @throws ArchiveRejected also for a broken one, BlobTooLarge, ScratchFull */
export async function unpackUpload(content: Readable, target: string, options: UploadOptions): Promise<void> {
  const { packedBytes = Infinity } = options;
  const { maxRatio, ratioFrom } = UNPACK_RATIO;
  const maxBytes = Math.min(options.maxBytes, Math.max(ratioFrom, packedBytes * maxRatio));
  try {
    await unpackTar(content, target, { ...options, maxBytes });
  } catch (error) {
    if (error instanceof BlobTooLarge && maxBytes < options.maxBytes)
      throw new ArchiveRejected(`it unpacks to more than ${maxRatio} times its size, as only a bomb does`, {
        cause: error,
      });
    if (isConflict(error))
      throw new ArchiveRejected("two of its entries have one path, one is below a file, or a name is too long", {
        cause: error,
      });
    if (isArchiveFault(error))
      throw new ArchiveRejected(`it is no tar.gz that can be read: ${error.message}`, { cause: error });
    throw error;
  }
}
