// An index from values to keys.

/** Maps values to keys. A key has any number of values. */
export interface ValueIndex {
  keys(value: string): Iterable<string>;
  /** Replaces the values of a key. */
  update(key: string, from: readonly string[], to: readonly string[]): void;
  clear(): void;
}

/** Most values have one key, which needs no Set: a Set of one takes some 170 bytes. */
type Keys = string | Set<string>;

export function createValueIndex(): ValueIndex {
  const keysByValue = new Map<string, Keys>();
  return {
    keys(value) {
      const keys = keysByValue.get(value) ?? [];
      return typeof keys === "string" ? [keys] : keys;
    },
    update(key, from, to) {
      for (const value of from) if (!to.includes(value)) drop(keysByValue, value, key);
      for (const value of to) add(keysByValue, value, key);
    },
    clear: () => keysByValue.clear(),
  };
}

function add(keysByValue: Map<string, Keys>, value: string, key: string): void {
  const keys = keysByValue.get(value);
  if (keys === undefined) keysByValue.set(value, key);
  else if (typeof keys !== "string") keys.add(key);
  else if (keys !== key) keysByValue.set(value, new Set([keys, key]));
}

function drop(keysByValue: Map<string, Keys>, value: string, key: string): void {
  const keys = keysByValue.get(value);
  if (keys === undefined) return;
  if (typeof keys !== "string") keys.delete(key);
  if (keys === key || (typeof keys !== "string" && keys.size === 0)) keysByValue.delete(value);
}
