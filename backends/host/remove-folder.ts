// Removes a folder that programs have filled, folders without rights included.
import { chmod, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** Removes it with all it holds, with retries: a process may still write into it. A folder that is not there is no error. */
export async function removeFolder(path: string): Promise<void> {
  try {
    await remove(path);
  } catch (error) {
    if (!["EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    // Caches of modules and the kernel's own part of an overlay have folders that their owner may not read or change.
    await openFolders(path);
    await remove(path);
  }
}

function remove(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 3 });
}

async function openFolders(path: string): Promise<void> {
  await chmod(path, 0o700).catch(() => undefined);
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await openFolders(join(path, entry.name));
}
