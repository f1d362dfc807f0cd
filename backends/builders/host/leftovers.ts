// Clears what an earlier run of the builder left when it was killed: processes of builds, and their directories.
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { restoredDigest } from "../../host/restore.ts";
import { killInstance } from "../../host/stop.ts";
import { buildOf, leaderFile, temporaryOf } from "./staging-job.ts";

const leader = z.object({ pid: z.int(), identity: z.string() });

/** Kills what is left of the builds, and removes the builds' directories. Await it before the first build. */
export async function clearLeftovers(workDirectory: string, dropletsDirectory: string): Promise<void> {
  const builds = await readdir(workDirectory).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  });
  for (const name of builds) {
    const work = join(workDirectory, name);
    await killInstance(await findLeader(work), temporaryOf(work));
    await rm(work, { recursive: true, force: true });
    const root = join(dropletsDirectory, buildOf(name));
    // A build that was done, but not yet known to be, is kept: its droplet is whole.
    if ((await restoredDigest(root)) === undefined) await rm(root, { recursive: true, force: true });
  }
}

async function findLeader(work: string): Promise<z.output<typeof leader> | undefined> {
  try {
    return leader.safeParse(JSON.parse(await readFile(join(work, leaderFile), "utf8"))).data;
  } catch (_error) {
    // None, or half of one: the platform ended just then. What was started carries its TMPDIR all the same.
    return undefined;
  }
}
