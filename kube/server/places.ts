// Bounds how many of each key are under way at once.

export interface Places {
  /** Places of each key. */
  max: number;
  /** Undefined when all places of the key are taken; else the function that gives it back, of which only the first call counts. */
  take(key: string): (() => void) | undefined;
}

export function createPlaces(max: number): Places {
  const taken = new Map<string, number>();
  const add = (key: string, change: 1 | -1): void => {
    const count = (taken.get(key) ?? 0) + change;
    if (count > 0) taken.set(key, count);
    else taken.delete(key);
  };
  return {
    max,
    take(key) {
      if ((taken.get(key) ?? 0) >= max) return undefined;
      add(key, 1);
      let isTaken = true;
      return () => {
        if (isTaken) add(key, -1);
        isTaken = false;
      };
    },
  };
}
