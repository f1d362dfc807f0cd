// The reply to a download of bits.
import { BlobNotFound, type BlobStore, type Digest } from "../../blobs/blob-store.ts";
import type { Reply } from "./endpoint.ts";

/**
 * The whole blob. Its length comes from the store: the size in an object's status is only as trustworthy as its writers.
 * @throws BlobNotFound
 */
export async function toBlobReply(blobs: BlobStore, space: string, digest: Digest): Promise<Reply> {
  const found = await blobs.find(space, digest);
  if (!found) throw new BlobNotFound(space, digest);
  return {
    status: 200,
    body: await blobs.open(space, digest),
    contentType: "application/octet-stream",
    headers: { "content-length": String(found.size) },
  };
}
