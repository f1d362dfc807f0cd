// The index of a store: value -> keys. It knows keys and strings only, no objects.

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
