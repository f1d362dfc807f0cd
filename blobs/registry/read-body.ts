// Reads a small body of an answer into memory.
import type { Readable } from "node:stream";
import { BlobTooLarge } from "../blob-store.ts";

/** Reads at most `maxBytes` within `deadlineMs`, then destroys the body. @throws BlobTooLarge, or the error of the connection */
export async function readBody(body: Readable, maxBytes: number, deadlineMs: number): Promise<Buffer> {
  const timer = setTimeout(() => body.destroy(new Error(`it took longer than ${deadlineMs / 1000} s`)), deadlineMs);
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new BlobTooLarge(maxBytes);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
}
