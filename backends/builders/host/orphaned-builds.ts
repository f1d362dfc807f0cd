// Removes what a killed builder left: processes of builds, and their directories.
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { restoredDigest } from "../../host/restore-droplet.ts";
import { killInstance } from "../../host/terminate-instance.ts";
import { groupLeaderFile } from "./staging-job.ts";
import { toBuildName, removeRoot, toTmpDir } from "./work-directory.ts";

const groupLeader = z.object({ pid: z.int(), identity: z.string() });

export interface OrphanedBuildsOptions {
  /** Holds the work directory of each try. */
  stagingDir: string;
  dropletsDir: string;
  /** See HostBuilderOptions. */
  isLeader: () => boolean;
}

/** Kills the processes of earlier builds and removes their directories. Await it before the first build. Returns early when this process is no longer the leader. */
export async function removeOrphanedBuilds(options: OrphanedBuildsOptions): Promise<void> {
  const names = await readdir(options.stagingDir).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  });
  for (const name of names) await removeOrphanedBuild(options, name);
}

async function removeOrphanedBuild(
  { stagingDir, dropletsDir, isLeader }: OrphanedBuildsOptions,
  name: string,
): Promise<void> {
  const work = join(stagingDir, name);
  const root = join(dropletsDir, toBuildName(name));
  const leader = await findGroupLeader(work);
  if (!isLeader()) return;
  await killInstance({ leader, tmp: toTmpDir(work) });
  // A finished build whose status was not written yet: its droplet is complete, so it is kept.
  const isWhole = (await restoredDigest(root)) !== undefined;
  if (!isLeader()) return;
  if (!isWhole) await removeRoot(root, work);
  if (!isLeader()) return;
  // Last: until then no other process builds in the root.
  await rm(work, { recursive: true, force: true });
}

async function findGroupLeader(work: string): Promise<z.output<typeof groupLeader> | undefined> {
  try {
    return groupLeader.safeParse(JSON.parse(await readFile(join(work, groupLeaderFile), "utf8"))).data;
  } catch (_error) {
    // Absent or incomplete: the platform was killed at that moment. The build's processes are found by their TMPDIR.
    return undefined;
  }
}
