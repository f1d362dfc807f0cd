// Where the directory store keeps its files, and what it does with them.
import { constants, type Dirent } from "node:fs";
import { access, mkdir, readdir, utimes } from "node:fs/promises";
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
