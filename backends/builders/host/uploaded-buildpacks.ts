// Uploaded buildpacks: unpacked once per machine, from the blob store, in folders named by their content.
import { randomUUID } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BlobNotFound, type BlobStore, type Digest } from "../../../blobs/blob-store.ts";
import { BUILDPACK_BLOBS } from "../../../crds/buildpack/buildpack.ts";
import { StagingFailure } from "../staging-failure.ts";
import { findUploaded, isThere, unpackUploaded } from "../uploaded-buildpack.ts";

/** The folder of an uploaded buildpack. @throws StagingFailure when its content is gone */
export type ProvideUploaded = (digest: Digest) => Promise<string>;

const MAX_UNPACKED_BYTES = 4 * 2 ** 30;

/** Where the content is unpacked. */
export function toUploadedFolder(directory: string, digest: Digest): string {
  return join(directory, digest.replace(/^sha256:/, ""));
}

/** `directory` is a folder of this builder alone. Concurrent calls for one content share one unpacking. */
export function uploadedBuildpacks(store: Pick<BlobStore, "open">, directory: string): ProvideUploaded {
  const inFlight = new Map<Digest, Promise<string>>();
  return (digest) => {
    const running = inFlight.get(digest) ?? provide(store, directory, digest).finally(() => inFlight.delete(digest));
    inFlight.set(digest, running);
    return running;
  };
}

async function provide(store: Pick<BlobStore, "open">, directory: string, digest: Digest): Promise<string> {
  const target = toUploadedFolder(directory, digest);
  if (!(await isThere(target))) await unpack(store, { directory, target, digest });
  return findUploaded(target);
}

async function unpack(
  store: Pick<BlobStore, "open">,
  { directory, target, digest }: { directory: string; target: string; digest: Digest },
): Promise<void> {
  const temporary = join(directory, `.unpack-${randomUUID()}`);
  try {
    const content = await store.open(BUILDPACK_BLOBS, digest);
    await unpackUploaded(content, temporary, MAX_UNPACKED_BYTES);
    await rename(temporary, target);
  } catch (error) {
    if (error instanceof BlobNotFound)
      throw new StagingFailure("StagingError", "the uploaded buildpack's content is gone; upload it again", {
        cause: error,
      });
    // Another process of this machine was quicker.
    if (!(await isThere(target))) throw error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
