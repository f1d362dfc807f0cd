// Counts elements that code iterates over, by Map, Set and Array iterators and array methods: a cost measure independent of the machine.

const ITERATORS: readonly object[] = [new Map(), new Set(), []].map(
  (one) => Object.getPrototypeOf(one[Symbol.iterator]()) as object,
);
const WALKS = [
  "map",
  "filter",
  "flatMap",
  "forEach",
  "find",
  "some",
  "every",
  "reduce",
  "sort",
  "includes",
  "indexOf",
] as const;
type Method = (this: { length: number }, ...given: unknown[]) => unknown;

/** Counts steps, of all running code, until `work` has resolved. */
export async function countSteps(work: () => unknown): Promise<number> {
  let steps = 0;
  const undo: (() => void)[] = [];
  const replace = (holder: object, name: string, count: (self: { length: number }) => number): void => {
    const usual = Object.getOwnPropertyDescriptor(holder, name);
    const method = usual?.value as Method;
    Object.defineProperty(holder, name, {
      ...usual,
      value(this: { length: number }, ...given: unknown[]) {
        steps += count(this);
        return method.apply(this, given);
      },
    });
    undo.push(() => Object.defineProperty(holder, name, usual ?? {}));
  };
  for (const iterator of ITERATORS) replace(iterator, "next", () => 1);
  for (const walk of WALKS) replace(Array.prototype, walk, ({ length }) => length);
  try {
    await work();
    return steps;
  } finally {
    for (const end of undo) end();
  }
}
