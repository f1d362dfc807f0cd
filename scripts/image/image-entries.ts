// Entries of an image's layer, and how a folder of this machine becomes such entries.
import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import { join, posix } from "node:path";

/** User and group that own an entry; root unless said. */
export interface Owner {
  uid: number;
  gid: number;
}

interface EntryMeta {
  /** Absolute path in the image. */
  path: string;
  owner?: Owner;
}

/** `mode` is permission bits; a file is the host's at `source`, or `content`. */
export type ImageEntry = EntryMeta &
  (
    | { type: "directory"; mode: number }
    | { type: "symlink"; target: string }
    | { type: "file"; mode: number; source: string }
    | { type: "file"; mode: number; content: string | Buffer }
  );

export interface FolderOptions {
  owner?: Owner;
  /** Leaves out a file, or a folder with all that it holds. The path is below the folder, with `/`. */
  exclude?: (path: string) => boolean;
}

/**
 * All that `folder` holds, at `to` in the image. Of the permissions only "may be executed" is kept, so that the umask of whoever checked out a source does not
 * matter. @throws Error on anything but files, folders and symbolic links
 */
export function listFolder(folder: string, to: string, options: FolderOptions = {}): ImageEntry[] {
  return walk(folder, "", options).map((entry) => ({ ...entry, path: posix.join(to, entry.path) }));
}

function walk(folder: string, below: string, options: FolderOptions): ImageEntry[] {
  return readdirSync(join(folder, below)).flatMap((name) => {
    const path = posix.join(below, name);
    if (options.exclude?.(path)) return [];
    return toEntries(folder, path, options);
  });
}

function toEntries(folder: string, path: string, options: FolderOptions): ImageEntry[] {
  const source = join(folder, path);
  const stats = lstatSync(source);
  const meta = { path, ...(options.owner && { owner: options.owner }) };
  if (stats.isSymbolicLink()) return [{ ...meta, type: "symlink", target: readlinkSync(source) }];
  if (stats.isDirectory()) return [{ ...meta, type: "directory", mode: 0o755 }, ...walk(folder, path, options)];
  if (!stats.isFile()) throw new Error(`${source} is no file, folder or symbolic link: an image cannot have it`);
  return [{ ...meta, type: "file", mode: stats.mode & 0o111 ? 0o755 : 0o644, source }];
}

/** Sorted by path, with the folders that lie above and are not listed; of two entries with one path the last counts. */
export function completeEntries(entries: readonly ImageEntry[]): ImageEntry[] {
  const byPath = new Map<string, ImageEntry>();
  for (const entry of entries) {
    const path = normalise(entry.path);
    byPath.set(path, { ...entry, path });
  }
  for (const path of [...byPath.keys()])
    for (let above = posix.dirname(path); above !== "/"; above = posix.dirname(above))
      if (!byPath.has(above)) byPath.set(above, { type: "directory", path: above, mode: 0o755 });
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** @throws Error when it is not absolute, or the root itself */
function normalise(path: string): string {
  const clean = posix.normalize(path).replace(/(?<=.)\/$/, "");
  if (!clean.startsWith("/") || clean === "/") throw new Error(`"${path}" is no absolute path of an entry of an image`);
  return clean;
}
