// Unpacks the content of an uploaded buildpack.
import { access, chmod, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { unpackTar } from "../../blobs/archive/tar.ts";

const DESCRIPTOR = "buildpack.toml";

/** Unpacks into `folder`, which it makes. Returns the buildpack's own folder: that one, or the only one in it. @throws ArchiveRejected, BlobTooLarge */
export async function unpackUploaded(content: Readable, folder: string, maxBytes: number): Promise<string> {
  await mkdir(folder, { recursive: true });
  await unpackTar(content, folder, { maxBytes, symlinks: "inside" });
  const found = await findUploaded(folder);
  // Zips made by cf and on Windows do not always carry modes.
  await makeExecutable(join(found, "bin"));
  return found;
}

/** The folder itself, or the one folder in it. */
export async function findUploaded(folder: string): Promise<string> {
  if (await isThere(join(folder, DESCRIPTOR))) return folder;
  const [only, ...others] = await readdir(folder);
  return only !== undefined && others.length === 0 ? join(folder, only) : folder;
}

async function makeExecutable(bin: string): Promise<void> {
  const names = await readdir(bin).catch(() => []);
  for (const name of names) await chmod(join(bin, name), 0o755);
}

/** Whether something is at the path. */
export function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
