// Clears what an earlier run of the builder left when it was killed: processes of builds, and their directories.
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { isSameProcess, killGroup } from "../../host/process-group.ts";
import { restoredDigest } from "../../host/restore.ts";
import { leaderFile } from "./staging-job.ts";

const leader = z.object({ pid: z.int(), started: z.string() });

/** Kills the groups whose leader is still the one that was started, and removes the builds' directories. Await it before the first build. */
export async function clearLeftovers(workDirectory: string, dropletsDirectory: string): Promise<void> {
  const builds = await readdir(workDirectory).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  });
  for (const name of builds) {
    const work = join(workDirectory, name);
    await killLeader(join(work, leaderFile));
    await rm(work, { recursive: true, force: true });
    const root = join(dropletsDirectory, name);
    // A build that was done, but not yet known to be, is kept: its droplet is whole.
    if ((await restoredDigest(root)) === undefined) await rm(root, { recursive: true, force: true });
  }
}

async function killLeader(file: string): Promise<void> {
  const text = await readFile(file, "utf8").catch(() => "null");
  const identity = leader.safeParse(parseOrNull(text)).data;
  if (identity && (await isSameProcess(identity))) killGroup(identity.pid, "SIGKILL");
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Cut off while it was written: then the process has ended with the channel to us.
    return null;
  }
}
