// A folder that goes with its process: the next process that starts there removes what a killed one left.
import { lstat, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

const NAME = /^(\d+)-(\d+)$/;

/** Removes the folders of processes that are gone and makes one for this process. @throws Error where others could write to `parent` */
export async function claimProcessFolder(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const stats = await lstat(parent);
  if (!stats.isDirectory() || (process.getuid && stats.uid !== process.getuid()))
    throw new Error(`${parent} is no folder of this user; name another`);
  for (const name of await readdir(parent)) {
    const [, pid, started] = NAME.exec(name) ?? [];
    if (pid === undefined || (await isAlive(Number(pid), started ?? ""))) continue;
    await rm(join(parent, name), { recursive: true, force: true });
  }
  const own = join(parent, `${process.pid}-${(await startOf(process.pid)) ?? "0"}`);
  await mkdir(own, { recursive: true, mode: 0o700 });
  return own;
}

async function isAlive(pid: number, started: string): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const now = await startOf(pid);
  return now === undefined || now === started;
}

/** When the process started, in ticks since the machine did; undefined where the system does not say. Pids are used again. */
async function startOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  // The name of the program may hold spaces and parentheses.
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19];
}
