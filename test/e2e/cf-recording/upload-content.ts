// Content of uploads in recordings: the files of a zip, so that a replay makes such a zip again, or bytes that an answer before has given.
import { createHash } from "node:crypto";
import { buffer, text } from "node:stream/consumers";
import { fromBufferPromise } from "yauzl";
import { ZipFile } from "yazl";

/** Files by path; or what is no zip at all. */
export type UploadContent = { files: Record<string, { text: string; mode?: number }> } | { text: string };

/** The name that stands for bytes which the API sends and gets: `<bytes-0123456789ab>`. */
export function nameOfBytes(bytes: Buffer): string {
  return `<bytes-${digestOf(bytes)}>`;
}

/** Short, for keys of a file. */
export function digestOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 12);
}

export async function readContent(bytes: Buffer): Promise<UploadContent> {
  if (bytes.subarray(0, 2).toString() !== "PK") return { text: bytes.toString() };
  const zip = await fromBufferPromise(bytes, { lazyEntries: true });
  const files: Record<string, { text: string; mode?: number }> = {};
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName.endsWith("/")) continue;
    const mode = (entry.externalFileAttributes >>> 16) & 0o777;
    const content = await text(await zip.openReadStreamPromise(entry));
    files[entry.fileName] = { text: content, ...(mode !== 0 && mode !== 0o644 && { mode }) };
  }
  return { files };
}

export async function makeContent(content: UploadContent): Promise<Uint8Array<ArrayBuffer>> {
  if ("text" in content) return new Uint8Array(Buffer.from(content.text));
  const zip = new ZipFile();
  for (const [path, { text: content_, mode = 0o644 }] of Object.entries(content.files))
    zip.addBuffer(Buffer.from(content_), path, { mode: 0o100000 | mode });
  zip.end();
  return new Uint8Array(await buffer(zip.outputStream));
}
