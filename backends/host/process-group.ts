// Process groups of this machine: who leads one (safe against reused pids), what it uses, and its end.
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A process that can be told from a later one with the same pid. `started` has no meaning but equality. */
export interface ProcessIdentity {
  pid: number;
  started: string;
}

/** What the live processes of a group use together. Shared pages count for each process. */
export interface GroupUsage {
  processes: number;
  rssBytes: number;
  /** CPU time of the processes that are alive now. */
  cpuSeconds: number;
}

const psDeadlineMs = 5000;
/** Linux reports process times in 1/100 s whatever the kernel's own tick is. */
const clockTicks = 100;

/** The identity of a running process, undefined when there is none. A zombie is none. */
export async function processIdentity(pid: number): Promise<ProcessIdentity | undefined> {
  if (process.platform === "linux") {
    const stat = await readStat(String(pid));
    return stat && stat.state !== "Z" ? { pid, started: stat.started } : undefined;
  }
  const lines = await ps(["-o", "stat=,lstart=", "-p", String(pid)]);
  const match = /^(\S+)\s+(.+)$/.exec(lines[0]?.trim() ?? "");
  return match && !match[1]?.startsWith("Z") ? { pid, started: (match[2] ?? "").trim() } : undefined;
}

/** Is the process of this identity still running? */
export async function isSameProcess(identity: ProcessIdentity): Promise<boolean> {
  return (await processIdentity(identity.pid))?.started === identity.started;
}

/** Signals every process of the group. False when there is none (any more). */
export function killGroup(pgid: number, signal: NodeJS.Signals): boolean {
  if (!Number.isInteger(pgid) || pgid <= 1) throw new Error(`${pgid} is no process group of ours`);
  try {
    process.kill(-pgid, signal);
    return true;
  } catch (error) {
    // EPERM on macOS: only zombies are left.
    if (error instanceof Error && "code" in error && (error.code === "ESRCH" || error.code === "EPERM")) return false;
    throw error;
  }
}

/** Adds up the group. Zombies count as gone. */
export async function groupUsage(pgid: number): Promise<GroupUsage> {
  return (await groupsUsage([pgid])).get(pgid) ?? { processes: 0, rssBytes: 0, cpuSeconds: 0 };
}

/** Adds up several groups in one look at the process table. Groups without a process are not in the answer. */
export async function groupsUsage(pgids: readonly number[]): Promise<Map<number, GroupUsage>> {
  const wanted = new Set(pgids);
  const usage = new Map<number, GroupUsage>();
  const rows = process.platform === "linux" ? await linuxRows(wanted) : await psRows(wanted);
  for (const row of rows) {
    const sum = usage.get(row.pgid) ?? { processes: 0, rssBytes: 0, cpuSeconds: 0 };
    usage.set(row.pgid, { processes: sum.processes + 1, rssBytes: sum.rssBytes + row.rssBytes, cpuSeconds: sum.cpuSeconds + row.cpuSeconds });
  }
  return usage;
}

interface Row {
  pgid: number;
  rssBytes: number;
  cpuSeconds: number;
}

async function linuxRows(wanted: ReadonlySet<number>): Promise<Row[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const rows = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readStat(pid);
      if (!stat || stat.state === "Z" || !wanted.has(stat.pgid)) return undefined;
      return { pgid: stat.pgid, rssBytes: await readRss(pid), cpuSeconds: stat.cpuSeconds };
    }),
  );
  return rows.filter((row) => row !== undefined);
}

interface Stat {
  state: string;
  pgid: number;
  started: string;
  cpuSeconds: number;
}

async function readStat(pid: string): Promise<Stat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(gone);
  if (text === undefined) return undefined;
  // The command name is in parentheses and may itself hold any character.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { state: fields[0] ?? "", pgid: Number(fields[2]), started: fields[19] ?? "", cpuSeconds: ticks / clockTicks };
}

async function readRss(pid: string): Promise<number> {
  const status = (await readFile(`/proc/${pid}/status`, "utf8").catch(gone)) ?? "";
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

async function psRows(wanted: ReadonlySet<number>): Promise<Row[]> {
  const rows: Row[] = [];
  for (const line of await ps(["-A", "-o", "pgid=,stat=,rss=,time="])) {
    const [pgid, state, rss, time] = line.trim().split(/\s+/);
    if (!wanted.has(Number(pgid)) || state?.startsWith("Z")) continue;
    rows.push({ pgid: Number(pgid), rssBytes: Number(rss) * 1024, cpuSeconds: toSeconds(time ?? "0") });
  }
  return rows;
}

/** `[[dd-]hh:]mm:ss[.ff]` as ps prints it. */
export function toSeconds(time: string): number {
  const [days, clock] = time.includes("-") ? time.split("-") : ["0", time];
  return Number(days) * 86_400 + (clock ?? "0").split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
}

async function ps(args: readonly string[]): Promise<string[]> {
  // ps exits 1 when nothing matches.
  const { stdout } = await run("ps", args, { timeout: psDeadlineMs, env: { LC_ALL: "C", PATH: "/bin:/usr/bin" } }).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === 1) return { stdout: "" };
    throw error;
  });
  return stdout.split("\n").filter((line) => line.trim() !== "");
}

function gone(error: unknown): undefined {
  if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ESRCH" || error.code === "EACCES")) return undefined;
  throw error;
}
