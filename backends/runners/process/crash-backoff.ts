// Diego's restart policy for crashed instances. Pure.

/** A run of at least this length resets the crash count. */
export const crashResetMs = 5 * 60_000;
/** After this many crashes in a row the instance stays down until the app or the instance is restarted. */
export const maxCrashes = 200;

const immediateRestarts = 3;
const firstDelayMs = 30_000;
const maxDoublings = 5;

/** The new crash count, and the delay before the next start; `delayMs` undefined means never. */
export interface CrashPlan {
  crashCount: number;
  delayMs: number | undefined;
}

/** `ranMs` is how long the instance was healthy; 0 when it never was. */
export function planCrash(before: number, ranMs: number): CrashPlan {
  const crashCount = ranMs >= crashResetMs ? 1 : before + 1;
  return { crashCount, delayMs: restartDelay(crashCount) };
}

function restartDelay(crashCount: number): number | undefined {
  if (crashCount >= maxCrashes) return undefined;
  if (crashCount <= immediateRestarts) return 0;
  return firstDelayMs * 2 ** Math.min(crashCount - immediateRestarts - 1, maxDoublings);
}

/** The delay after a start that failed before there was a process. That is no crash: a Secret or a droplet may not exist yet. */
export function startRetryDelay(failures: number): number {
  return Math.min(1000 * 2 ** Math.max(failures - 1, 0), firstDelayMs);
}
