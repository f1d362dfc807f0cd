// The two kinds of index of a store: value -> keys, and keys in a kept order. They know keys and strings only, no objects.

/** Keys filed under values. A key has any number of values. */
export interface ValueIndex {
  keys(value: string): Iterable<string>;
  /** Moves a key from the values it had to those it has. */
  move(key: string, from: readonly string[], to: readonly string[]): void;
  clear(): void;
}

export function createValueIndex(): ValueIndex {
  const filed = new Map<string, Set<string>>();
  const drop = (value: string, key: string) => {
    const keys = filed.get(value);
    keys?.delete(key);
    if (keys?.size === 0) filed.delete(value);
  };
  const add = (value: string, key: string) => {
    const keys = filed.get(value);
    if (keys) keys.add(key);
    else filed.set(value, new Set([key]));
  };
  return {
    keys: (value) => filed.get(value) ?? [],
    move(key, from, to) {
      for (const value of from) if (!to.includes(value)) drop(value, key);
      for (const value of to) add(value, key);
    },
    clear: () => filed.clear(),
  };
}

/** Keys sorted by a string of theirs, ties by key. Insertions are deferred and merged on the next read, so that a big load sorts once. */
export interface SortedIndex {
  keys(reverse: boolean): Iterable<string>;
  set(key: string, sortsAs: string): void;
  delete(key: string): void;
  clear(): void;
}

/** Up to so many pending keys are inserted one by one; more are sorted together with the rest. */
const INSERT_LIMIT = 64;

export function createSortedIndex(): SortedIndex {
  const sortsAs = new Map<string, string>();
  const pending = new Set<string>();
  let sorted: string[] = [];

  const compare = (a: string, b: string): number => {
    const left = sortsAs.get(a) ?? "";
    const right = sortsAs.get(b) ?? "";
    if (left !== right) return left < right ? -1 : 1;
    return a < b ? -1 : Number(a > b);
  };
  const place = (key: string): number => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(sorted[middle] ?? "", key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const settle = () => {
    if (pending.size > INSERT_LIMIT) sorted = [...sorted, ...pending].sort(compare);
    else for (const key of pending) sorted.splice(place(key), 0, key);
    pending.clear();
  };
  const remove = (key: string) => {
    if (!pending.delete(key)) sorted.splice(place(key), 1);
  };

  return {
    *keys(reverse) {
      settle();
      // A snapshot of the length is enough: a reader does not wait between two keys.
      if (reverse) for (let at = sorted.length - 1; at >= 0; at--) yield sorted[at] ?? "";
      else for (let at = 0; at < sorted.length; at++) yield sorted[at] ?? "";
    },
    set(key, value) {
      const before = sortsAs.get(key);
      if (before === value) return;
      if (before !== undefined) remove(key);
      sortsAs.set(key, value);
      pending.add(key);
    },
    delete(key) {
      if (!sortsAs.has(key)) return;
      remove(key);
      sortsAs.delete(key);
    },
    clear() {
      sortsAs.clear();
      pending.clear();
      sorted = [];
    },
  };
}
