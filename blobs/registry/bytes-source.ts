// Bytes in memory as the source of an upload.
import { createHash } from "node:crypto";
import type { BlobSource } from "./blob-upload.ts";

export function bytesSource(bytes: Buffer): BlobSource {
  return {
    digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
    size: bytes.length,
    open: (start, end) => bytes.subarray(start, end),
  };
}
