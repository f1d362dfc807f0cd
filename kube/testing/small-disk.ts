// Mounts a file system of a few megabytes, for full-disk tests. Needs root on Linux; tests skip elsewhere.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  dir: string;
  /** Uses all remaining space. */
  fill(): void;
  /** Frees the space again. */
  free(): void;
  unmount(): void;
}

/** Why this machine cannot mount one; undefined when it can. */
export function whyNoSmallDisk(): string | undefined {
  try {
    mountSmallDisk(1).unmount();
    return undefined;
  } catch (error) {
    return `no small disk can be mounted: ${(error instanceof Error ? error.message : String(error)).split("\n")[0]}`;
  }
}

/** @throws Error where this process may not mount */
export function mountSmallDisk(megabytes: number): SmallDisk {
  const dir = mkdtempSync(join(tmpdir(), "small-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0700`, "tmpfs", dir], { stdio: "pipe" });
  } catch (error) {
    rmdirSync(dir);
    throw error;
  }
  const ballast = join(dir, "ballast");
  return {
    dir,
    fill: () => fillWith(ballast, dir),
    free: () => rmSync(ballast, { force: true }),
    unmount() {
      execFileSync("umount", ["-l", dir], { stdio: "pipe" });
      rmdirSync(dir);
    },
  };
}

function fillWith(path: string, dir: string): void {
  for (;;) {
    const { bavail, bsize } = statfsSync(dir);
    if (bavail === 0) return;
    writeFileSync(path, Buffer.alloc(bavail * bsize), { flag: "a" });
  }
}
