// The directories of a build: each try has its own `work`, and all tries of one build share its `root`.
import { randomBytes } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

/** A unique name for the `work` of one try, so that its TMPDIR differs from those of other processes for the same build. */
export function newWorkDirectoryName(build: string): string {
  return `${build}.${randomBytes(4).toString("hex")}`;
}

/** The build to which a `work` of this name belongs. */
export function toBuildName(name: string): string {
  return name.replace(/\.[0-9a-f]{8}$/, "");
}

/** TMPDIR of everything that a build runs. A process with this TMPDIR belongs to the build, even outside its group and session. */
export function toTmpDir(work: string): string {
  return join(work, "tmp");
}

/** Makes `work`. Returns false, and makes nothing, when this process is no longer the leader. The check comes last, so a later leader finds `work` and removes it before it builds. */
export async function createWorkDirectory(work: string, isLeader: () => boolean): Promise<boolean> {
  await mkdir(toTmpDir(work), { recursive: true, mode: 0o700 });
  if (isLeader()) return true;
  await rm(work, { recursive: true, force: true });
  return false;
}

/**
 * Removes `root` if `work` exists: as long as it does, no other process builds in the same root. The root is first renamed into `work`, which fails
 * without `work`. So a process that is paused at any point removes nothing that its successor builds.
 */
export async function removeRoot(root: string, work: string): Promise<void> {
  const renamed = join(work, `root-${randomBytes(4).toString("hex")}`);
  try {
    await rename(root, renamed);
  } catch (error) {
    const code = error instanceof Error && "code" in error && error.code;
    if (code === "ENOENT" || code === "ENOTDIR") return;
    if (code !== "EXDEV") throw error;
    // No rename between file systems: `work` existed just now, but a pause from here on goes unnoticed.
    await rm(root, { recursive: true, force: true });
  }
  await rm(renamed, { recursive: true, force: true });
}
