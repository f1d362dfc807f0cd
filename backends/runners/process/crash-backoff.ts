// When a crashed instance starts again: Diego's rule. Pure.

/** A run at least this long wipes the slate clean. */
export const crashResetMs = 5 * 60_000;
/** With this many crashes in a row the instance stays down until its LRP changes or the instance is restarted. */
export const maxCrashes = 200;

const immediateRestarts = 3;
const firstDelayMs = 30_000;
const maxDoublings = 5;

/** How many crashes in a row this one makes, and after how long the instance starts again; `delayMs` undefined means never. */
export interface CrashPlan {
  crashCount: number;
  delayMs: number | undefined;
}

/** `ranMs` is how long the instance was running (healthy), 0 when it never got there. */
export function planCrash(before: number, ranMs: number): CrashPlan {
  const crashCount = ranMs >= crashResetMs ? 1 : before + 1;
  return { crashCount, delayMs: restartDelay(crashCount) };
}

function restartDelay(crashCount: number): number | undefined {
  if (crashCount >= maxCrashes) return undefined;
  if (crashCount <= immediateRestarts) return 0;
  return firstDelayMs * 2 ** Math.min(crashCount - immediateRestarts - 1, maxDoublings);
}

/** After how long an instance that could not even be started is tried again. No crash: a Secret or a droplet may still be on its way. */
export function startRetryDelay(failures: number): number {
  return Math.min(1000 * 2 ** Math.max(failures - 1, 0), firstDelayMs);
}
