// Clears what an earlier run of the builder left when it was killed: processes of builds, and their directories.
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { restoredDigest } from "../../host/restore-droplet.ts";
import { killInstance } from "../../host/terminate-instance.ts";
import { leaderFile } from "./staging-job.ts";
import { buildOf, removeRoot, temporaryOf } from "./work-directory.ts";

const leader = z.object({ pid: z.int(), identity: z.string() });

export interface Leftovers {
  /** Holds the `work` of each try. */
  stagingDir: string;
  dropletsDir: string;
  /** As of HostBuilderOptions. */
  holds: () => boolean;
}

/** Kills what is left of the builds, and removes the builds' directories. Await it before the first build. Ends early when this process does not lead any more. */
export async function clearLeftovers(leftovers: Leftovers): Promise<void> {
  const names = await readdir(leftovers.stagingDir).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  });
  for (const name of names) await clearTry(leftovers, name);
}

async function clearTry({ stagingDir, dropletsDir, holds }: Leftovers, name: string): Promise<void> {
  const work = join(stagingDir, name);
  const root = join(dropletsDir, buildOf(name));
  const left = await findLeader(work);
  if (!holds()) return;
  await killInstance(left, temporaryOf(work));
  // A build that was done, but not yet known to be, is kept: its droplet is whole.
  const isWhole = (await restoredDigest(root)) !== undefined;
  if (!holds()) return;
  if (!isWhole) await removeRoot(root, work);
  if (!holds()) return;
  // Last of all: it says whose the root is.
  await rm(work, { recursive: true, force: true });
}

async function findLeader(work: string): Promise<z.output<typeof leader> | undefined> {
  try {
    return leader.safeParse(JSON.parse(await readFile(join(work, leaderFile), "utf8"))).data;
  } catch (_error) {
    // None, or half of one: the platform ended just then. What was started carries its TMPDIR all the same.
    return undefined;
  }
}
