// What this replica has told its clients of so far, in little room: for a peer that comes, or that could not be reached for a while.
import { hasReached } from "../../kube/store.ts";
import type { Mark } from "./floors.ts";

/** A peer that was not told of a deletion for so long has joined anew since, and listed. */
const goneKeptMs = 60_000;
const maxGone = 5_000;

export interface History {
  add(marks: readonly Mark[]): void;
  /** The newest version of each kind, and the deletions of the last minute. */
  marks(): Mark[];
  /** Grows with each `add`. */
  readonly revision: number;
}

/** Empty at first. `now` is a monotonic clock in milliseconds. */
export function createHistory(now: () => number = () => performance.now()): History {
  const versions = new Map<string, Mark>();
  const gone = new Map<string, { mark: Mark; at: number }>();
  let revision = 0;

  const forget = (): void => {
    for (const [uid, { at }] of gone) {
      if (gone.size <= maxGone && now() - at < goneKeptMs) return;
      gone.delete(uid);
    }
  };
  return {
    add(marks) {
      revision++;
      for (const mark of marks) {
        if (mark.gone !== undefined) gone.set(mark.gone, { mark, at: now() });
        else if (!hasReached(versions.get(mark.resource)?.version ?? "", mark.version)) versions.set(mark.resource, mark);
      }
      forget();
    },
    marks() {
      forget();
      return [...versions.values(), ...[...gone.values()].map(({ mark }) => mark)];
    },
    get revision() {
      return revision;
    },
  };
}
