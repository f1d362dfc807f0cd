// Where the directory store keeps its files, and what it does with them.
import { randomUUID } from "node:crypto";
import { constants, type Dirent } from "node:fs";
import { access, mkdir, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BlobKind, Digest } from "../blob-store.ts";

export const CONTENT_FOLDER = ".content";

export function contentPath(root: string, digest: Digest): string {
  return join(root, CONTENT_FOLDER, digest.slice("sha256:".length));
}

export function blobPath(root: string, space: string, kind: BlobKind, digest: Digest): string {
  return join(root, space, kind, digest.slice("sha256:".length));
}

export async function markNew(path: string): Promise<void> {
  await utimes(path, new Date(), new Date());
}

export async function makeFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}

export async function exists(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    (error: unknown) => ifAbsent(error, false),
  );
}

export async function entriesOf(directory: string): Promise<Dirent[]> {
  return readdir(directory, { withFileTypes: true }).catch((error: unknown) => ifAbsent(error, []));
}

export function ifAbsent<T>(error: unknown, instead: T): T {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return instead;
  throw error;
}

/** The note of the content at `path`. `incoming` is where it is written first. */
export async function writeNote(incoming: string, path: string, note: string): Promise<void> {
  const temporary = join(await makeFolder(incoming), randomUUID());
  try {
    // Flushed before it gets its name, or a power cut leaves an empty note.
    await writeFile(temporary, note, { mode: 0o600, flush: true });
    await rename(temporary, `${path}.note`);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
