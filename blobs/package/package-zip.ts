// A stored package as the zip that CF's clients download.
import { finished } from "node:stream/promises";
import { PassThrough, type Readable } from "node:stream";
import type { Header } from "tar-stream";
import { ZipFile } from "yazl";
import { readTar, type TarBody } from "../archive/tar.ts";

const SYMLINK = 0o120000;
const FILE = 0o100000;

/** Streams a package's tar.gz as a zip, entry by entry. `maxBytes` bounds what it unpacks to. A failure destroys the stream. */
export function toZip(content: Readable, maxBytes: number): Readable {
  const zip = new ZipFile();
  const out = new PassThrough();
  // A client that leaves ends the reading, too.
  out.on("close", () => content.destroy());
  zip.outputStream.pipe(out);
  readTar(content, maxBytes, (header, body) => addEntry(zip, header, body)).then(
    () => zip.end(),
    (error: unknown) => out.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return out;
}

async function addEntry(
  zip: ZipFile,
  { name, type, mode, mtime, size, linkname }: Header,
  body: TarBody,
): Promise<void> {
  const time = mtime ? { mtime } : {};
  if (type === "file") {
    const content = body.stream();
    const read = finished(content);
    zip.addReadStream(content, name, { ...time, mode: FILE | (mode ?? 0o644), size: size ?? 0 });
    return read;
  }
  body.skip();
  if (type === "directory") zip.addEmptyDirectory(name, { ...time, mode: mode ?? 0o755 });
  else zip.addBuffer(Buffer.from(linkname ?? ""), name, { ...time, mode: SYMLINK | 0o777 });
}
