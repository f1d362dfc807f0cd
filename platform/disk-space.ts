// Checks the disk of the platform's data for `/readyz`.
import { statfsSync } from "node:fs";
import type { CheckResult } from "../kube/server/readiness.ts";

/** Less free space counts as a full disk. */
const MIN_FREE_BYTES = 1024 * 1024;

/** Reads work on a full disk, so the process stays ready and reports itself degraded. */
export function checkDiskSpace(dir: string): CheckResult {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize >= MIN_FREE_BYTES || { degraded: `the disk of ${dir} is full: writes are refused` };
  } catch {
    return { degraded: `the folder ${dir} cannot be read` };
  }
}
