// Packs directories into a tar.gz of many gzip members. Parts that an archive of before has are copied from it as they are: to compress what has not changed is most of
// the time of a large droplet.
import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { READ_BYTES } from "./file-writer.ts";
import { keyOf, packEnd, packPart, toParts, type Part, type Parts } from "./parts.ts";
import { type FoundMember, walk } from "./tar.ts";

/** An archive that was packed here before. */
export interface KeptArchive {
  file: FileHandle;
  parts: Parts;
}

/** Packs the files and directories at `paths` below `root` into the new file `target`, as `packDirectory` does. Returns its parts. */
export async function packInParts(
  { root, paths, target }: { root: string; paths: readonly string[]; target: string },
  kept?: KeptArchive,
): Promise<Parts> {
  const file = await open(target, "wx", 0o600);
  const parts: Record<string, Part> = {};
  try {
    let at = 0;
    for await (const members of toParts(walkAll(root, paths))) {
      const key = keyOf(members, ({ identity }) => identity);
      const before = key === undefined ? undefined : kept?.parts[key];
      const copied = kept && before && (await copyPart(kept.file, before, { file, at }));
      const part = copied || (await writePart(packPart(members), { file, at }));
      if (key !== undefined) parts[key] = part;
      at += part.length;
    }
    const end = await writePart(packEnd(), { file, at });
    // A part that could not be copied may have left more.
    await file.truncate(at + end.length);
    return parts;
  } finally {
    await file.close();
  }
}

async function* walkAll(root: string, paths: readonly string[]): AsyncGenerator<FoundMember> {
  for (const path of [...paths].sort()) yield* walk(root, path);
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
