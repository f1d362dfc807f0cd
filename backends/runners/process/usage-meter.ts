// Measures the CPU and memory of all instances by one read of the process table a second, and their disk less often. Idle without instances.
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  findProcess,
  readResidentBytes,
  listMembers,
  type ProcessRow,
  readProcesses,
} from "../../host/process-table.ts";

/** The current usage of an instance. `cpu` in cores; sizes in bytes. */
export interface Usage {
  cpu: number;
  mem: number;
  disk: number;
  /** Milliseconds since the epoch. */
  at: number;
  /** Bytes of log per second. */
  logRate?: number;
}

/** Called after every sample. `members` are the living processes of the instance. */
export type OnSample = (usage: Usage, members: readonly ProcessRow[]) => void;

export interface UsageMeter {
  /** Measures the instance led by this process until the returned function is called. `dirs` count as its disk. */
  add(leader: number, dirs: readonly string[], onSample: OnSample): () => void;
  /** Measures CPU and memory of this instance now, and calls its `onSample`. */
  sampleNow(leader: number): Promise<void>;
  /** Whether it measures an instance to whose disk this directory counts. */
  measures(dir: string): boolean;
  close(): void;
}

interface Entry {
  leader: number;
  dirs: readonly string[];
  onSample: OnSample;
  cpuSeconds?: number;
  /** Whether its disk has been measured at least once. */
  isMeasured?: boolean;
  usage: Usage;
}

/** `intervalMs` between samples; the disk is measured in every `diskEvery`th. */
export interface UsageMeterOptions {
  intervalMs?: number;
  diskEvery?: number;
  onError?: (error: unknown) => void;
}

/** Makes a meter. Nothing runs before the first `add`. */
export function createUsageMeter({ intervalMs = 1000, diskEvery = 15, onError }: UsageMeterOptions = {}): UsageMeter {
  const entries = new Set<Entry>();
  let timer: NodeJS.Timeout | undefined;
  let samples = 0;

  let measuring: Promise<void> | undefined;

  const sampleDue = async (): Promise<void> => {
    const rows = await readProcesses();
    for (const entry of entries) await sample(entry, rows);
    const all = samples++ % diskEvery === 0;
    // New instances are measured at once. Not awaited: reading a large folder must not delay the memory samples.
    const due = [...entries].filter((entry) => all || !entry.isMeasured);
    if (due.length > 0)
      measuring ??= measureDisk(due)
        .catch((error: unknown) => onError?.(error))
        .finally(() => (measuring = undefined));
  };
  const arm = (): void => {
    if (timer || entries.size === 0) return;
    timer = setTimeout(() => {
      sampleDue()
        .catch((error: unknown) => onError?.(error))
        .finally(() => {
          timer = undefined;
          arm();
        });
    }, intervalMs).unref();
  };
  return {
    add(leader, dirs, onSample) {
      const entry: Entry = { leader, dirs, onSample, usage: { cpu: 0, mem: 0, disk: 0, at: Date.now() } };
      entries.add(entry);
      arm();
      return () => {
        entries.delete(entry);
        if (entries.size > 0) return;
        clearTimeout(timer);
        timer = undefined;
      };
    },
    async sampleNow(leader) {
      const rows = await readProcesses();
      for (const entry of entries) if (entry.leader === leader) await sample(entry, rows);
    },
    measures: (dir) => [...entries].some(({ dirs }) => dirs.includes(dir)),
    close() {
      entries.clear();
      clearTimeout(timer);
    },
  };
}

async function sample(entry: Entry, rows: readonly ProcessRow[]): Promise<void> {
  const members = listMembers(rows, entry.leader);
  const cpuSeconds = members.reduce((sum, row) => sum + row.cpuSeconds, 0);
  const at = Date.now();
  // The time of processes that ended is missing in the sum, so the difference may be negative.
  const used = Math.max(0, cpuSeconds - (entry.cpuSeconds ?? cpuSeconds));
  const cpu = used / Math.max((at - entry.usage.at) / 1000, 0.001);
  entry.usage = { cpu, mem: await readResidentBytes(members), disk: entry.usage.disk, at };
  entry.cpuSeconds = cpuSeconds;
  entry.onSample(entry.usage, members);
}

/** Reads a folder once, even if several instances share it. */
async function measureDisk(entries: readonly Entry[]): Promise<void> {
  const sizes = new Map<string, number>();
  for (const entry of entries) {
    let disk = 0;
    for (const dir of entry.dirs) {
      const size = sizes.get(dir) ?? (await sizeOf(dir, { files: 500_000 }));
      sizes.set(dir, size);
      disk += size;
    }
    entry.usage = { ...entry.usage, disk };
    entry.isMeasured = true;
  }
}

/** Bytes on disk below a directory, as `du`. Stops counting after `files`. Files that vanish meanwhile count nothing. */
export async function sizeOf(dir: string, budget: { files: number }): Promise<number> {
  const names = await readdir(dir, { withFileTypes: true }).catch(() => []);
  let sum = 0;
  for (const entry of names) {
    if (budget.files-- <= 0) break;
    const path = join(dir, entry.name);
    sum += entry.isDirectory() ? await sizeOf(path, budget) : await fileSize(path);
  }
  return sum;
}

async function fileSize(path: string): Promise<number> {
  const stat = await lstat(path).catch(() => undefined);
  return stat ? stat.blocks * 512 : 0;
}

/** Resolves when exactly this process is gone; never rejects. Polls, for processes that are not our children. */
export async function waitForExit(pid: number, identity: string, signal: AbortSignal, everyMs = 500): Promise<void> {
  while (!signal.aborted) {
    if (await isGone(pid, identity)) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, everyMs);
      function done(): void {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      }
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

async function isGone(pid: number, identity: string): Promise<boolean> {
  try {
    return (await findProcess(pid))?.identity !== identity;
  } catch (_error) {
    // The lookup failed (no descriptors left, ps timed out); the next poll may succeed.
    return false;
  }
}
