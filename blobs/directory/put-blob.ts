// Writes one content of the directory store: durable and complete under its names, or absent.
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, link, open, rename, rm, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Transform, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Blob, type BlobKind, BlobTooLarge, type Digest, limitBytes } from "../blob-store.ts";
import { countBytes, processScratch, type ScratchFolder } from "../scratch/scratch-space.ts";
import { blobPath, contentPath, exists, makeFolder, markNew, writeNote } from "./files.ts";

const HASHED_AT_ONCE = 2 ** 18;

export interface PutTarget {
  root: string;
  incoming: string;
  space: string;
  kind: BlobKind;
  maxBytes: number;
  /** Asked when the content has been read. */
  note?: (() => string) | undefined;
  /** The folder of the same upload. */
  scratch?: ScratchFolder | undefined;
}

export async function putBlob(target: PutTarget, content: Readable): Promise<Blob> {
  const temporary = await temporaryPath(target);
  return storeTemporary(temporary, target, async () => {
    const hash = createHash("sha256");
    let size = 0;
    const measure = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        size += chunk.length;
        done(null, chunk);
      },
    });
    await processScratch.count(
      target.space,
      (meter) =>
        pipeline(
          content,
          limitBytes(target.maxBytes),
          countBytes(meter),
          measure,
          createWriteStream(temporary, { mode: 0o600, flush: true }),
        ),
      target.scratch,
    );
    return { digest: `sha256:${hash.digest("hex")}`, size };
  });
}

/** Moves the file where that is possible: large droplets are written once. */
export async function takeFile(target: PutTarget, file: string): Promise<Blob> {
  const { size } = await stat(file);
  if (size > target.maxBytes) throw new BlobTooLarge(target.maxBytes);
  const temporary = await temporaryPath(target);
  try {
    await rename(file, temporary);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    return putBlob(target, createReadStream(file));
  }
  return storeTemporary(temporary, target, async () => {
    const opened = await open(temporary, "r+");
    try {
      await opened.chmod(0o600);
      const [hex] = await Promise.all([digestOf(opened), opened.sync()]);
      return { digest: `sha256:${hex}`, size };
    } finally {
      await opened.close();
    }
  });
}

/** Reads into one buffer: each large one that is thrown away brings the garbage collection of a large heap nearer. */
async function digestOf(file: FileHandle): Promise<string> {
  const hash = createHash("sha256");
  const bytes = Buffer.allocUnsafeSlow(HASHED_AT_ONCE);
  for (let at = 0; ;) {
    const { bytesRead } = await file.read(bytes, 0, bytes.length, at);
    if (bytesRead === 0) return hash.digest("hex");
    hash.update(bytes.subarray(0, bytesRead));
    at += bytesRead;
  }
}

async function temporaryPath({ incoming }: PutTarget): Promise<string> {
  // Created again: a person who frees disk space may have removed it.
  return join(await makeFolder(incoming), randomUUID());
}

/** Publishes the temporary file once `complete` has written, synced and measured it; removes it if anything fails. */
async function storeTemporary(temporary: string, target: PutTarget, complete: () => Promise<Blob>): Promise<Blob> {
  try {
    const blob = await complete();
    if (target.note) await putNote(target, blob.digest, target.note());
    await publish(temporary, target, blob.digest);
    return blob;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Before the content has its name: it is never listed without its note. */
async function putNote({ root, incoming, space, kind }: PutTarget, digest: Digest, note: string): Promise<void> {
  const path = blobPath(root, space, kind, digest);
  await makeFolder(dirname(path));
  await writeNote(incoming, path, note);
}

/** Gives a complete, synced file its names, and makes that of the space durable. */
async function publish(temporary: string, { root, space, kind }: PutTarget, digest: Digest): Promise<void> {
  const path = blobPath(root, space, kind, digest);
  const content = contentPath(root, digest);
  await makeFolder(dirname(path));
  await makeFolder(dirname(content));
  if ((await exists(path)) || (await tryLink(content, path))) {
    // Put again: clean-up counts its grace from here.
    await markNew(path);
    await unlink(temporary);
  } else await rename(temporary, path);
  await tryLink(path, content);
  const directory = await open(dirname(path), "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Whether `name` is a link to `existing` now. Where that cannot be (no such file, a file system without links, too many links), the content is just stored again. */
export async function tryLink(existing: string, name: string): Promise<boolean> {
  try {
    await link(existing, name);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "EEXIST", "EMLINK", "EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code)) return false;
    throw error;
  }
}
