// An index from values to keys.

/** Maps values to keys. A key has any number of values. */
export interface ValueIndex {
  keys(value: string): Iterable<string>;
  /** Replaces the values of a key. */
  update(key: string, from: readonly string[], to: readonly string[]): void;
  clear(): void;
}

export function createValueIndex(): ValueIndex {
  const keysByValue = new Map<string, Set<string>>();
  const drop = (value: string, key: string) => {
    const keys = keysByValue.get(value);
    keys?.delete(key);
    if (keys?.size === 0) keysByValue.delete(value);
  };
  const add = (value: string, key: string) => {
    const keys = keysByValue.get(value);
    if (keys) keys.add(key);
    else keysByValue.set(value, new Set([key]));
  };
  return {
    keys: (value) => keysByValue.get(value) ?? [],
    update(key, from, to) {
      for (const value of from) if (!to.includes(value)) drop(value, key);
      for (const value of to) add(value, key);
    },
    clear: () => keysByValue.clear(),
  };
}
