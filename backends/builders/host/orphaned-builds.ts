// Clears what an earlier run of the builder left when it was killed: processes of builds, and their directories.
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { restoredDigest } from "../../host/restore-droplet.ts";
import { killInstance } from "../../host/terminate-instance.ts";
import { groupLeaderFile } from "./staging-job.ts";
import { toBuildName, removeRoot, toTmpDir } from "./work-directory.ts";

const groupLeader = z.object({ pid: z.int(), identity: z.string() });

export interface OrphanedBuildsOptions {
  /** Holds the `work` of each try. */
  stagingDir: string;
  dropletsDir: string;
  /** As of HostBuilderOptions. */
  isLeader: () => boolean;
}

/** Kills what is left of the builds, and removes the builds' directories. Await it before the first build. Ends early when this process does not lead any more. */
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
  // A build that was done, but not yet known to be, is kept: its droplet is whole.
  const isWhole = (await restoredDigest(root)) !== undefined;
  if (!isLeader()) return;
  if (!isWhole) await removeRoot(root, work);
  if (!isLeader()) return;
  // Last of all: it says whose the root is.
  await rm(work, { recursive: true, force: true });
}

async function findGroupLeader(work: string): Promise<z.output<typeof groupLeader> | undefined> {
  try {
    return groupLeader.safeParse(JSON.parse(await readFile(join(work, groupLeaderFile), "utf8"))).data;
  } catch (_error) {
    // None, or half of one: the platform ended just then. What was started carries its TMPDIR all the same.
    return undefined;
  }
}
