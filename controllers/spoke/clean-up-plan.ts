// Which leftovers of a hub go from a namespace of a spoke: Secrets of variables that nothing there uses any more, and then the namespace. Pure.

export interface Leftover {
  name: string;
  uid: string;
}

export interface CleanUpInput {
  /** The namespace. Undefined when it stays, since somebody lent it to the hub. */
  namespace: Leftover | undefined;
  /** Secrets of the hub in it. */
  secrets: readonly Leftover[];
  /** Names of those that an LRP or a TaskRun there uses. */
  used: ReadonlySet<string>;
  /** Number of LRPs, TaskRuns and RouteBindings in it, whoever made them. */
  contents: number;
  now: number;
}

/** By uid: since when something has been unused, in milliseconds. */
export type UnusedSince = ReadonlyMap<string, number>;

export interface CleanUpPlan {
  unused: UnusedSince;
  secrets: Leftover[];
  namespace: Leftover | undefined;
}

/**
 * How long something stays that nothing uses: a restarted app uses the same Secret again a moment after its last LRP has gone, and a stopped one may
 * start again.
 */
export const UNUSED_MS = 10 * 60_000;

export function planCleanUp(
  before: UnusedSince,
  { namespace, secrets, used, contents, now }: CleanUpInput,
): CleanUpPlan {
  const unusedSecrets = secrets.filter(({ name }) => !used.has(name));
  const isEmpty = contents === 0 && secrets.length === 0;
  const candidates = [...unusedSecrets, ...(isEmpty && namespace ? [namespace] : [])];
  const unused = new Map(candidates.map(({ uid }) => [uid, before.get(uid) ?? now]));
  const isDue = ({ uid }: Leftover): boolean => now - (unused.get(uid) ?? now) >= UNUSED_MS;
  return {
    unused,
    secrets: unusedSecrets.filter(isDue),
    namespace: isEmpty && namespace && isDue(namespace) ? namespace : undefined,
  };
}
