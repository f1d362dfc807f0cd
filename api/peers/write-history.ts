// What this replica has told its clients of lately: for a peer that comes, or that could not be reached for a moment.
import { hasReached } from "../../kube/cache/store.ts";
import type { Mark } from "./read-barrier.ts";

/** A peer that was not told for so long has been given up meanwhile, and lists everything when it joins anew. Milliseconds. */
const keptMs = 60_000;
const maxKept = 10_000;

export interface History {
  add(marks: readonly Mark[]): void;
  /** The newest version of each kind and namespace, and the deletions, of the last minute. */
  marks(): Mark[];
  /** Grows with each `add`. */
  readonly revision: number;
}

/** Empty at first. `now` is a monotonic clock in milliseconds. */
export function createHistory(now: () => number = () => performance.now()): History {
  /** The oldest first. */
  const kept = new Map<string, { mark: Mark; at: number }>();
  let revision = 0;

  const forget = (): void => {
    for (const [key, { at }] of kept) {
      if (kept.size <= maxKept && now() - at < keptMs) return;
      kept.delete(key);
    }
  };
  const keep = (mark: Mark): void => {
    const key = mark.gone ?? `${mark.resource} ${mark.namespace ?? ""}`;
    const known = kept.get(key)?.mark;
    kept.delete(key);
    kept.set(key, { mark: known && hasReached(known.version, mark.version) ? known : mark, at: now() });
  };
  return {
    add(marks) {
      revision++;
      for (const mark of marks) keep(mark);
      forget();
    },
    marks() {
      forget();
      return [...kept.values()].map(({ mark }) => mark);
    },
    get revision() {
      return revision;
    },
  };
}
