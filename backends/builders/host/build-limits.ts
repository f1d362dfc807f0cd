// Watches the time, memory and disk of a running build. The first limit that it exceeds is reported once.
import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { listMembers, readResidentBytes, readProcesses } from "../../host/process-table.ts";
import type { StagingFailure } from "../staging-failure.ts";

/** Limits of one build. */
export interface BuildLimits {
  /** ms since the epoch. */
  deadline: number;
  timeoutSeconds: number;
  memoryMB: number;
  diskMB: number;
  /** Directories whose contents count as the build's disk. */
  directories: readonly string[];
}

export type ExceededLimit = Pick<StagingFailure, "code" | "message">;

const mebibyte = 2 ** 20;
const sampleIntervalMs = 500;
/** Disk is measured in every nth sample only, since walking a tree is slow. */
const diskSampleInterval = 6;

/** Calls `exceeded` at most once, and `error` when a sample fails. The returned function ends the watch. */
export function watchLimits(
  pgid: number,
  limits: BuildLimits,
  on: { exceeded: (exceededLimit: ExceededLimit) => void; error: (error: unknown) => void },
): () => void {
  let samples = 0;
  let isSampling = false;
  let ended = false;
  const end = (): void => {
    ended = true;
    clearInterval(timer);
  };
  const sample = async (): Promise<void> => {
    const exceededLimit = await findExceededLimit(pgid, limits, samples++ % diskSampleInterval === 0);
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
  return end;
}

async function findExceededLimit(
  pgid: number,
  limits: BuildLimits,
  withDisk: boolean,
): Promise<ExceededLimit | undefined> {
  if (Date.now() > limits.deadline)
    return { code: "StagingTimeExpired", message: `the build took longer than ${limits.timeoutSeconds} s` };
  const memoryBytes = await readResidentBytes(listMembers(await readProcesses(), pgid));
  if (memoryBytes > limits.memoryMB * mebibyte)
    return {
      code: "InsufficientResources",
      message: `the build used more than its ${limits.memoryMB} MB of memory (staging_memory_in_mb of the build)`,
    };
  const diskBytes = withDisk ? await directoriesSize(limits.directories, limits.diskMB * mebibyte) : 0;
  if (diskBytes > limits.diskMB * mebibyte)
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
