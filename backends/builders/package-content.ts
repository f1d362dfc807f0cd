// The content of a Staging's package in the blob store, from where a build's Pod fetches it.
import { Readable } from "node:stream";
import { packMembers } from "../../blobs/archive/tar.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import type { Staging } from "../../crds/staging/staging.ts";
import { StagingFailure } from "./staging-failure.ts";

/** Inline files of a Staging fit into an object, so this bounds nothing that a user may do. */
const MAX_INLINE_BYTES = 16 * 2 ** 20;

/** The digest of the package's content. Files of the Staging itself become content first. */
export async function provideContent(staging: Staging, blobs: Pick<BlobStore, "put">): Promise<string> {
  const { content, files } = staging.spec.package;
  if (content) return content.digest;
  if (!files)
    throw new StagingFailure(
      "StagingError",
      "the package has no source: this builder builds packages of type bits only",
    );
  const members = Object.entries(files).map(([path, text]) => {
    const bytes = Buffer.from(text);
    const open = (): Readable => Readable.from([bytes]);
    return { path, type: "file" as const, mode: 0o644, size: bytes.length, content: open };
  });
  const { digest } = await blobs.put(staging.spec.space.guid, "package", packMembers(members), {
    maxBytes: MAX_INLINE_BYTES,
  });
  return digest;
}
