// A cgroup (v2) contains every process that an instance starts, daemons without its group, session, parent and environment included.
// Optional: only where this process may make groups below its own, as root or in a delegated tree. These groups limit nothing.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { trySignal } from "./process-table.ts";

/** Joins the group of the `cgroup.procs` in $0, then execs the command, so that nothing the command starts is outside. */
const joinScript = '{ echo 0 > "$0"; } 2>/dev/null; exec "$@"';
const killTimeoutMs = 5000;

/** The folder in which groups can be made; undefined where the system allows none. */
export async function findCgroupParent(): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  const parent = await ownCgroup();
  if (parent === undefined) return undefined;
  try {
    const probe = await createCgroup(parent, `probe-${randomUUID()}`);
    const [file = "", ...args] = joinCommand(probe, ["/bin/cat", "/proc/self/cgroup"]);
    const { stdout } = await promisify(execFile)(file, args, { timeout: 5000 });
    await removeCgroup(probe);
    return stdout.includes(probe.slice(parent.length)) ? parent : undefined;
  } catch (_error) {
    // Read-only, another user's, or a group that accepts no processes: usual outside of a delegated tree.
    return undefined;
  }
}

/** Makes the group. @throws Error where the system refuses */
export async function createCgroup(parent: string, name: string): Promise<string> {
  const path = join(parent, `cupola-${name}`);
  await mkdir(path);
  return path;
}

/** The command that runs `command` inside the group. */
export function joinCommand(cgroup: string, command: readonly string[]): string[] {
  return ["/bin/sh", "-c", joinScript, join(cgroup, "cgroup.procs"), ...command];
}

/** The command, inside the group where there is one. */
export function joinCgroup({ cgroup }: { cgroup?: string | undefined }, command: string[]): string[] {
  return cgroup === undefined ? command : joinCommand(cgroup, command);
}

/** Kills all processes in the group, waits until it is empty, and removes it. Returns after 5 s at the latest; a missing group is no error. */
export async function killCgroup(path: string): Promise<void> {
  const deadline = Date.now() + killTimeoutMs;
  while ((await isPopulated(path)) && Date.now() < deadline) {
    await killMembers(path);
    await delay(10);
  }
  await removeCgroup(path);
}

async function ownCgroup(): Promise<string | undefined> {
  const [own, mounts] = await Promise.all(
    ["/proc/self/cgroup", "/proc/self/mountinfo"].map((file) => readFile(file, "utf8")),
  );
  const path = /^0::(.+)$/m.exec(own ?? "")?.[1];
  // The fifth field is the mount point; what follows " - " begins with the file system's type.
  const mount = (mounts ?? "").split("\n").find((line) => line.includes(" - cgroup2 "));
  const root = mount?.split(" ")[4];
  return path === undefined || root === undefined ? undefined : join(root, path);
}

async function isPopulated(path: string): Promise<boolean> {
  const events = await readFile(join(path, "cgroup.events"), "utf8").catch(() => "");
  return events.includes("populated 1");
}

async function killMembers(path: string): Promise<void> {
  try {
    await writeFile(join(path, "cgroup.kill"), "1");
  } catch (_error) {
    // Linux has this file since 5.14.
    const procs = await readFile(join(path, "cgroup.procs"), "utf8").catch(() => "");
    for (const pid of procs.split("\n").filter(Boolean)) trySignal(Number(pid), "SIGKILL");
  }
}

/** Removes nested groups first, which an app may have made. */
async function removeCgroup(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeCgroup(join(path, entry.name));
  await rmdir(path).catch((error: unknown) => {
    // EBUSY: a process in it cannot be killed at this moment.
    if (!["ENOENT", "EBUSY"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  });
}
