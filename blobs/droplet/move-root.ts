// Moves an unpacked droplet to another root: layers hold absolute paths, in links and in files.
import { lstat, open, readdir, readlink, rm, symlink, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

const CHUNK_BYTES = 1 << 20;

/** Replaces the old root by the new one, which has as many bytes, in every file and link below `folder`. No link is followed. */
export async function moveRoot(folder: string, from: string, to: string): Promise<void> {
  if (Buffer.byteLength(from) !== Buffer.byteLength(to)) throw new Error("the roots differ in length");
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const stats = await lstat(path);
    if (stats.isDirectory()) await moveRoot(path, from, to);
    else if (stats.isSymbolicLink()) await moveLink(path, from, to);
    else if (stats.isFile()) await moveFile(path, Buffer.from(from), Buffer.from(to));
  }
}

async function moveLink(path: string, from: string, to: string): Promise<void> {
  const target = await readlink(path);
  if (!target.includes(from)) return;
  await rm(path);
  await symlink(target.replaceAll(from, to), path);
}

async function moveFile(path: string, from: Buffer, to: Buffer): Promise<void> {
  const file = await open(path, "r+");
  try {
    for (const at of await findAll(file, from)) await file.write(to, 0, to.length, at);
  } finally {
    await file.close();
  }
}

/** Offsets of all places in the file. Chunks overlap, so that a place across two is found once. */
async function findAll(file: FileHandle, wanted: Buffer): Promise<number[]> {
  const found: number[] = [];
  const chunk = Buffer.alloc(CHUNK_BYTES + wanted.length - 1);
  for (let start = 0; ; start += CHUNK_BYTES) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, start);
    const seen = chunk.subarray(0, bytesRead);
    for (let at = seen.indexOf(wanted); at >= 0; at = seen.indexOf(wanted, at + wanted.length)) found.push(start + at);
    if (bytesRead < chunk.length) return found;
  }
}
