// The directories of a build's tries: each try has a `work` of its own, and all tries of one build share its `root`.
import { randomBytes } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

/** A name for the `work` of one try of a build: by TMPDIR nobody finds what another process does for the same build. */
export function newWorkDirectoryName(build: string): string {
  return `${build}.${randomBytes(4).toString("hex")}`;
}

/** The build whose `work` has that name. */
export function toBuildName(name: string): string {
  return name.replace(/\.[0-9a-f]{8}$/, "");
}

/** TMPDIR of everything that a build runs: whoever carries it is the build's, wherever it has fled to. */
export function toTmpDir(work: string): string {
  return join(work, "tmp");
}

/** Makes `work`; false, and nothing is made, when this process does not lead any more. It asks last, so whoever takes over later finds `work`, and removes it before building. */
export async function createWorkDirectory(work: string, isLeader: () => boolean): Promise<boolean> {
  await mkdir(toTmpDir(work), { recursive: true, mode: 0o700 });
  if (isLeader()) return true;
  await rm(work, { recursive: true, force: true });
  return false;
}

/**
 * Removes `root` if `work` is there: as long as it is, nobody else builds in the same root. The root goes into `work` first, in one step that fails
 * without it, so that a process which stands still at any point removes nothing that its successor builds.
 */
export async function removeRoot(root: string, work: string): Promise<void> {
  const renamed = join(work, `root-${randomBytes(4).toString("hex")}`);
  try {
    await rename(root, renamed);
  } catch (error) {
    const code = error instanceof Error && "code" in error && error.code;
    if (code === "ENOENT" || code === "ENOTDIR") return;
    if (code !== "EXDEV") throw error;
    // Between two file systems there is no such step: `work` was there just now, but a standstill from here on is not noticed.
    await rm(root, { recursive: true, force: true });
  }
  await rm(renamed, { recursive: true, force: true });
}
