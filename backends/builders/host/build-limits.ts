// Watches the time, memory and disk of a running build. The first limit that it exceeds is reported once.
import type { Dirent } from "node:fs";
import { lstat, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { listMembers, readResidentBytes, readProcesses } from "../../host/process-table.ts";
import type { StagingFailure } from "../staging-failure.ts";
import type { LineSink } from "./lifecycle/run-executable.ts";

/** Limits of one build. */
export interface BuildLimits {
  /** ms since the epoch. */
  deadline: number;
  timeoutSeconds: number;
  memoryMB: number;
  diskMB: number;
  /** Directories whose contents count as the build's disk. */
  directories: readonly string[];
  /** The cache of earlier builds, used in place: only its growth counts as the build's disk, until the build replaces it. */
  cache: string;
}

export type ExceededLimit = Pick<StagingFailure, "code" | "message">;

const mebibyte = 2 ** 20;
const sampleIntervalMs = 500;
/** Disk is measured in every nth sample only, since walking a tree is slow. */
const diskSampleInterval = 6;

/** A watch of one build. */
export interface LimitWatch {
  stop: () => void;
  /** Whether the cache held more at the last sample than a build may write. */
  isCacheFull: () => boolean;
}

/** Calls `exceeded` at most once, and `error` when a sample fails. */
export function watchLimits(
  pgid: number,
  limits: BuildLimits,
  on: { exceeded: (exceededLimit: ExceededLimit) => void; error: (error: unknown) => void },
): LimitWatch {
  let samples = 0;
  const disk = measureDisk(limits);
  let isSampling = false;
  let ended = false;
  const end = (): void => {
    ended = true;
    clearInterval(timer);
  };
  const sample = async (): Promise<void> => {
    const exceededLimit = await findExceededLimit(
      pgid,
      limits,
      samples++ % diskSampleInterval === 0 ? disk.measure : () => Promise.resolve(0),
    );
    if (!exceededLimit || ended) return;
    end();
    on.exceeded(exceededLimit);
  };
  const timer = setInterval(() => {
    if (isSampling) return;
    isSampling = true;
    sample()
      .catch(on.error)
      .finally(() => (isSampling = false));
  }, sampleIntervalMs);
  timer.unref();
  return { stop: end, isCacheFull: disk.isCacheFull };
}

/**
 * The disk of one build: its folders, and what the cache has grown by since the first measurement.
 * At its end a build replaces the cache, with copies of layers that count in its folders: then nothing in the cache counts.
 */
export function measureDisk({ directories, cache, diskMB }: Pick<BuildLimits, "directories" | "cache" | "diskMB">): {
  measure: () => Promise<number>;
  isCacheFull: () => boolean;
} {
  const most = diskMB * mebibyte;
  let before: { bytes: number; inode: bigint | undefined } | undefined;
  let now = 0;
  return {
    async measure() {
      // Enough to see a build that fills a full cache's limit once more.
      now = await directoriesSize([cache], 2 * most);
      const inode = (await stat(cache, { bigint: true }).catch(() => undefined))?.ino;
      before ??= { bytes: now, inode };
      const added = inode === before.inode ? Math.max(0, now - before.bytes) : 0;
      return (await directoriesSize(directories, most)) + added;
    },
    isCacheFull: () => now > most,
  };
}

/** A cache grows with every version of every dependency, and package managers seldom remove any. Calls `onError` when it stays. */
export async function boundCache(
  {
    cache,
    diskMB,
    log,
    onError,
  }: Pick<BuildLimits, "cache" | "diskMB"> & { log: LineSink; onError: (error: unknown) => void },
  isCacheFull: boolean,
): Promise<void> {
  if (!isCacheFull) return;
  try {
    await rm(cache, { recursive: true, force: true });
    log("OUT", `The caches of this app's builds held more than ${diskMB} MB, so the next build begins without them`);
  } catch (error) {
    onError(error);
  }
}

async function findExceededLimit(
  pgid: number,
  limits: BuildLimits,
  measureDiskBytes: () => Promise<number>,
): Promise<ExceededLimit | undefined> {
  if (Date.now() > limits.deadline)
    return { code: "StagingTimeExpired", message: `the build took longer than ${limits.timeoutSeconds} s` };
  const memoryBytes = await readResidentBytes(listMembers(await readProcesses(), pgid));
  if (memoryBytes > limits.memoryMB * mebibyte)
    return {
      code: "InsufficientResources",
      message: `the build used more than its ${limits.memoryMB} MB of memory (staging_memory_in_mb of the build)`,
    };
  if ((await measureDiskBytes()) > limits.diskMB * mebibyte)
    return {
      code: "InsufficientResources",
      message: `the build used more than its ${limits.diskMB} MB of disk (staging_disk_in_mb of the build)`,
    };
  return undefined;
}

/** Bytes in all files below; stops counting soon after `enough`. Files that vanish meanwhile count nothing. */
export async function directoriesSize(directories: readonly string[], enough: number): Promise<number> {
  const pending = [...directories];
  let size = 0;
  for (let directory = pending.pop(); directory !== undefined && size <= enough; directory = pending.pop()) {
    const parent = directory;
    const entries: Dirent[] = await readdir(parent, { withFileTypes: true }).catch(() => []);
    pending.push(...entries.filter((entry) => entry.isDirectory()).map((entry) => join(parent, entry.name)));
    const files = entries.filter((entry) => !entry.isDirectory());
    for (const file of files) size += (await lstat(join(parent, file.name)).catch(() => undefined))?.size ?? 0;
  }
  return size;
}
