// Which Secrets of a hub's variables go from a namespace of a spoke: those that nothing there has used for a while. Pure.

export interface Leftover {
  name: string;
  uid: string;
}

export interface CleanUpInput {
  /** Secrets of the hub in the namespace. */
  secrets: readonly Leftover[];
  /** Names of those that an LRP or a TaskRun there uses. */
  used: ReadonlySet<string>;
  now: number;
}

/** By uid: since when a Secret has been unused, in milliseconds. */
export type UnusedSince = ReadonlyMap<string, number>;

export interface CleanUpPlan {
  unused: UnusedSince;
  remove: Leftover[];
}

/**
 * How long a Secret stays that nothing uses: a restarted app uses the same Secret again a moment after its last LRP has gone, and a stopped one may
 * start again.
 */
export const UNUSED_MS = 10 * 60_000;

export function planCleanUp(before: UnusedSince, { secrets, used, now }: CleanUpInput): CleanUpPlan {
  const candidates = secrets.filter(({ name }) => !used.has(name));
  const unused = new Map(candidates.map(({ uid }) => [uid, before.get(uid) ?? now]));
  return { unused, remove: candidates.filter(({ uid }) => now - (unused.get(uid) ?? now) >= UNUSED_MS) };
}
