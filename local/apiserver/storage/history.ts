// The recent changes of one resource, from which a watch may resume: bounded in number and in size.
import type { ChangeEvent } from "../types.ts";

/** A committed change with the version it was given. */
export interface HistoryEntry extends ChangeEvent {
  version: number;
}

export interface History {
  /** @param size what the change keeps from being forgotten, in characters of JSON. */
  add(entry: HistoryEntry, size: number): void;
  /** Changes after a version; undefined when the history does not reach back that far. */
  since(version: number): HistoryEntry[] | undefined;
}

const MOST = 2_000;
const MOST_SIZE = 32 * 1024 * 1024;

/** @param startRevision the version before which nothing is known. */
export function createHistory(startRevision: number): History {
  const entries: HistoryEntry[] = [];
  const sizes: number[] = [];
  let size = 0;
  let trimmedTo = startRevision;

  /** The older half at once, so that the cost is spread. */
  function trim(): void {
    const count = Math.ceil(entries.length / 2);
    for (const each of sizes.splice(0, count)) size -= each;
    trimmedTo = entries.splice(0, count).at(-1)?.version ?? trimmedTo;
  }

  return {
    add(entry, ofEntry) {
      entries.push(entry);
      sizes.push(ofEntry);
      size += ofEntry;
      if (entries.length > MOST || size > MOST_SIZE) trim();
    },
    since: (version) => (version < trimmedTo ? undefined : entries.slice(firstAfter(entries, version))),
  };
}

function firstAfter(entries: HistoryEntry[], version: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.version ?? 0) <= version) low = middle + 1;
    else high = middle;
  }
  return low;
}
