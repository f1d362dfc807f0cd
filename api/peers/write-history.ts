// The recent writes that this replica reported to clients, for a peer that joins or was unreachable for a moment.
import { hasReached } from "../../kube/api/resource-version.ts";
import type { WriteMark } from "./read-barrier.ts";

/** A peer that was unreachable for longer has lost its membership, and lists everything when it joins again. Milliseconds. */
const retentionMs = 60_000;
const maxEntries = 10_000;

export interface WriteHistory {
  add(listMarks: readonly WriteMark[]): void;
  /** The newest version of each kind and namespace, and the deletions, of the last minute. */
  listMarks(): WriteMark[];
  /** Increases with each `add`. */
  readonly generation: number;
}

/** `now` is a monotonic clock in milliseconds. */
export function createWriteHistory(now: () => number = () => performance.now()): WriteHistory {
  /** Oldest first. */
  const entries = new Map<string, { mark: WriteMark; at: number }>();
  let generation = 0;

  const prune = (): void => {
    for (const [key, { at }] of entries) {
      if (entries.size <= maxEntries && now() - at < retentionMs) return;
      entries.delete(key);
    }
  };
  const record = (mark: WriteMark): void => {
    const key = mark.gone ?? `${mark.resource} ${mark.namespace ?? ""}`;
    const known = entries.get(key)?.mark;
    entries.delete(key);
    entries.set(key, { mark: known && hasReached(known.version, mark.version) ? known : mark, at: now() });
  };
  return {
    add(marks) {
      generation++;
      for (const mark of marks) record(mark);
      prune();
    },
    listMarks() {
      prune();
      return [...entries.values()].map(({ mark }) => mark);
    },
    get generation() {
      return generation;
    },
  };
}
