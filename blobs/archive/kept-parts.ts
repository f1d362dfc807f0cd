// Packs directories into a tar.gz of many gzip members. Parts that an archive of before has are copied from it as they are: to compress what has not changed is most of
// the time of a large droplet.
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { pack } from "tar-stream";
import { gzipAdaptively } from "./adaptive-gzip.ts";
import { READ_BYTES } from "./file-writer.ts";
import { addMember, type FoundMember, walk } from "./tar.ts";

/** Where an archive has a part: bytes from its begin, their number, and their CRC-32. */
export interface Part {
  at: number;
  length: number;
  sum: number;
}

/** The parts of an archive, by what was packed into them. */
export type Parts = Readonly<Record<string, Part>>;

/** An archive that was packed here before. */
export interface KeptArchive {
  file: FileHandle;
  parts: Parts;
}

/** A larger file is a part of its own. */
const LARGE_BYTES = 2 ** 20;
/** Of the paths, one in so many ends a part, so that a new file changes one part only. */
const MEMBERS_OF_PART = 64;
const MOST_MEMBERS = 8 * MEMBERS_OF_PART;
/** What ends a tar archive. */
const END = Buffer.alloc(1024);

/** Packs the files and directories at `paths` below `root` into the new file `target`, as `packDirectory` does. Returns its parts. */
export async function packInParts(
  { root, paths, target }: { root: string; paths: readonly string[]; target: string },
  kept?: KeptArchive,
): Promise<Parts> {
  const file = await open(target, "wx", 0o600);
  const parts: Record<string, Part> = {};
  try {
    let at = 0;
    for await (const members of toParts(root, paths)) {
      const key = keyOf(members);
      const before = key === undefined ? undefined : kept?.parts[key];
      const copied = kept && before && (await copyPart(kept.file, before, { file, at }));
      const part = copied || (await writePart(gzipAdaptively(tarOf(members)), { file, at }));
      if (key !== undefined) parts[key] = part;
      at += part.length;
    }
    const end = await writePart(gzipAdaptively(only(END)), { file, at });
    // A part that could not be copied may have left more.
    await file.truncate(at + end.length);
    return parts;
  } finally {
    await file.close();
  }
}

/** Divides what is found by its paths and sizes alone. */
async function* toParts(root: string, paths: readonly string[]): AsyncGenerator<FoundMember[]> {
  let members: FoundMember[] = [];
  for (const path of [...paths].sort())
    for await (const member of walk(root, path)) {
      const isLarge = member.size > LARGE_BYTES;
      if (isLarge && members.length > 0) {
        yield members;
        members = [];
      }
      members.push(member);
      if (!isLarge && crc32(member.path) % MEMBERS_OF_PART !== 0 && members.length < MOST_MEMBERS) continue;
      yield members;
      members = [];
    }
  if (members.length > 0) yield members;
}

/** Undefined when the file system does not tell one file from another in its place. */
function keyOf(members: readonly FoundMember[]): string | undefined {
  const hash = createHash("sha256");
  for (const { path, type, mode, size, target, identity } of members) {
    if (type === "file" && identity === undefined) return undefined;
    hash.update(JSON.stringify([path, type, mode, size, target, identity]));
  }
  return hash.digest("hex");
}

/** A tar archive without its end. */
function tarOf(members: readonly FoundMember[]): AsyncIterable<Buffer> {
  const tar = pack();
  const fill = async (): Promise<void> => {
    for (const member of members) await addMember(tar, member);
    tar.push(null);
  };
  fill().catch((error: unknown) => tar.destroy(error instanceof Error ? error : new Error(String(error))));
  return tar as AsyncIterable<Buffer>;
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(bytes);
}

interface Place {
  file: FileHandle;
  at: number;
}

async function writePart(content: AsyncIterable<Buffer>, { file, at }: Place): Promise<Part> {
  let length = 0;
  let sum = 0;
  for await (const chunk of content) {
    await writeWhole(file, chunk, at + length);
    length += chunk.length;
    sum = crc32(chunk, sum);
  }
  return { at, length, sum };
}

/** Undefined when the archive of before no longer has it. */
async function copyPart(from: FileHandle, part: Part, { file, at }: Place): Promise<Part | undefined> {
  const bytes = Buffer.allocUnsafeSlow(Math.min(part.length, READ_BYTES));
  let sum = 0;
  for (let done = 0; done < part.length;) {
    const { bytesRead } = await from.read(bytes, 0, Math.min(bytes.length, part.length - done), part.at + done);
    if (bytesRead === 0) return undefined;
    const read = bytes.subarray(0, bytesRead);
    sum = crc32(read, sum);
    await writeWhole(file, read, at + done);
    done += bytesRead;
  }
  return sum === part.sum ? { at, length: part.length, sum } : undefined;
}

async function writeWhole(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
}
