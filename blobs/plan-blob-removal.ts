// Which contents may be removed. Pure: the caller lists blobs and references, and removes the result.
import type { Digest, StoredBlob } from "./blob-store.ts";

/** A content stays this long after it was last put, even unreferenced: an upload comes before the object that names it. */
export const removalGraceMs = 24 * 60 * 60 * 1000;

/** A reference of a Package, Droplet, Revision, LRP or Staging to a content. */
export interface BlobReference {
  space: string;
  digest: Digest;
}

/** The blobs that nothing refers to and whose grace is over at `now` (ms since the epoch). Caches are not judged here. */
export function planBlobRemoval(options: {
  blobs: readonly StoredBlob[];
  references: Iterable<BlobReference>;
  now: number;
  graceMs?: number;
}): StoredBlob[] {
  const referenced = new Set<string>();
  for (const { space, digest } of options.references) referenced.add(`${space} ${digest}`);
  const before = options.now - (options.graceMs ?? removalGraceMs);
  return options.blobs.filter(
    (blob) => blob.kind !== "cache" && blob.modified < before && !referenced.has(`${blob.space} ${blob.digest}`),
  );
}
