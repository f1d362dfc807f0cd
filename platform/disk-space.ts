// What `/readyz` says about the disk of the platform's data.
import { statfsSync } from "node:fs";
import type { CheckResult } from "../kube/server/readiness.ts";

/** Below this nothing of use can be stored. */
const MIN_FREE_BYTES = 1024 * 1024;

/** Reads go on with a full disk, so the process stays ready and says what it cannot do. */
export function checkDiskSpace(dir: string): CheckResult {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize >= MIN_FREE_BYTES || { degraded: `the disk of ${dir} is full: writes are refused` };
  } catch {
    return { degraded: `the folder ${dir} cannot be read` };
  }
}
