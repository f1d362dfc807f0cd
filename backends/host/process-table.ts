// The machine's processes: those of an instance, their usage, and signals to them. By /proc on Linux, elsewhere by ps.
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { isOutOfResources, retryWhileShort } from "./out-of-resources.ts";

/** A process. `identity` differs between two processes that had the same pid, reboots included. */
export interface ProcessRow {
  pid: number;
  parent: number;
  group: number;
  session: number;
  identity: string;
  zombie: boolean;
  /** User and system time so far, including children that were waited for. */
  cpuSeconds: number;
  residentBytes: number;
}

/** All processes of the machine that this user may see. */
export function readProcesses(): Promise<ProcessRow[]> {
  return process.platform === "linux" ? readProc() : readPs();
}

/** A process; undefined when it is gone. A zombie is gone: only its parent has not waited for it yet. */
export async function findProcess(pid: number): Promise<ProcessRow | undefined> {
  const row =
    process.platform === "linux"
      ? await readProcStat(pid, await bootId())
      : (await readPs()).find((each) => each.pid === pid);
  return row && !row.zombie ? row : undefined;
}

/** The living processes of the instance led by `leader`: its group, its session, and their descendants. */
export function listMembers(rows: readonly ProcessRow[], leader: number): ProcessRow[] {
  const members = new Set(rows.filter((row) => row.group === leader || row.session === leader).map((row) => row.pid));
  if (members.size === 0) return [];
  for (let before = 0; before !== members.size;) {
    before = members.size;
    for (const row of rows) if (members.has(row.parent)) members.add(row.pid);
  }
  return rows.filter((row) => members.has(row.pid) && !row.zombie);
}

/**
 * Memory that the kernel cannot reclaim: the anonymous memory of each process, and their shared memory once.
 * Program text and file cache do not count, as in a Linux memory limit. On other systems: resident memory.
 */
export async function readResidentBytes(members: readonly ProcessRow[]): Promise<number> {
  if (process.platform !== "linux") return members.reduce((sum, row) => sum + row.residentBytes, 0);
  const sizes = await Promise.all(members.map((row) => readMemory(row.pid)));
  return sizes.reduce((sum, part) => sum + part.own, 0) + Math.max(0, ...sizes.map((part) => part.shared));
}

/** Sends a signal to the group and to members that left it. Processes that are gone are ignored. */
export function signalInstance(leader: number, members: readonly ProcessRow[], signal: NodeJS.Signals): void {
  trySignal(-leader, signal);
  for (const row of members) if (row.group !== leader) trySignal(row.pid, signal);
}

/** Pids whose environment has an entry with this prefix (`NAME=value`): finds daemons that left group, session and parent. Empty on other systems than Linux. */
export async function findByEnvironment(entryPrefix: string): Promise<number[]> {
  if (process.platform !== "linux") return [];
  const pids = await listPids();
  const matches = await Promise.all(
    pids.map(
      async (pid) =>
        (await readText(`/proc/${pid}/environ`))?.split("\0").some((entry) => entry.startsWith(entryPrefix)) ?? false,
    ),
  );
  return pids.filter((pid, i) => matches[i] && pid !== process.pid);
}

/** Signals one process, or a group by a negative number. A process that is gone, or another user's, is no error. */
export function trySignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH" && (error as NodeJS.ErrnoException).code !== "EPERM")
      throw error;
  }
}

const ticksPerSecond = 100;
const pageBytes = 4096;
let knownBootId: string | undefined;

async function bootId(): Promise<string> {
  knownBootId ??= (await readText("/proc/sys/kernel/random/boot_id"))?.trim() ?? "";
  return knownBootId;
}

async function readProc(): Promise<ProcessRow[]> {
  const boot = await bootId();
  const rows = await Promise.all((await listPids()).map((pid) => readProcStat(pid, boot)));
  return rows.filter((row) => row !== undefined);
}

async function listPids(): Promise<number[]> {
  return (await retryWhileShort(() => readdir("/proc"))).filter((name) => /^\d+$/.test(name)).map(Number);
}

async function readProcStat(pid: number, boot: string): Promise<ProcessRow | undefined> {
  const text = await readText(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(pid, text, boot);
}

/** Parses /proc/<pid>/stat. The command may contain spaces and parentheses, so fields are counted from the last parenthesis. */
export function parseStat(pid: number, text: string, boot: string): ProcessRow {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const number = (at: number): number => Number(fields[at - 3] ?? 0);
  return {
    pid,
    parent: number(4),
    group: number(5),
    session: number(6),
    identity: `${boot}/${fields[22 - 3]}`,
    zombie: fields[0] === "Z" || fields[0] === "X",
    cpuSeconds: (number(14) + number(15) + number(16) + number(17)) / ticksPerSecond,
    residentBytes: number(24) * pageBytes,
  };
}

async function readMemory(pid: number): Promise<{ own: number; shared: number }> {
  const status = (await readText(`/proc/${pid}/status`)) ?? "";
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) * 1024;
  return { own: bytes("RssAnon"), shared: bytes("RssShmem") };
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await retryWhileShort(() => readFile(path, "utf8"));
  } catch (error) {
    // A failed read does not mean that the process is gone.
    if (isOutOfResources(error)) throw error;
    // Processes end while we read, and some belong to other users.
    return undefined;
  }
}

async function readPs(): Promise<ProcessRow[]> {
  const columns = "pid=,ppid=,pgid=,stat=,rss=,time=,lstart=";
  const { stdout } = await retryWhileShort(() =>
    promisify(execFile)("ps", ["-axo", columns], {
      timeout: 5000,
      maxBuffer: 16 << 20,
      env: { PATH: "/bin:/usr/bin", LC_ALL: "C" },
    }),
  );
  return stdout.split("\n").flatMap((line) => {
    const [pid, parent, group, state, rss, time, ...started] = line.trim().split(/\s+/);
    if (!pid || !parent || !group || !time) return [];
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        // ps on macOS shows no sessions; a detached child leads both its group and its session.
        session: Number(group),
        identity: started.join(" "),
        zombie: state?.startsWith("Z") ?? false,
        cpuSeconds: time.split(/[-:]/).reduce((sum, part) => sum * 60 + Number(part), 0),
        residentBytes: Number(rss) * 1024,
      },
    ];
  });
}
