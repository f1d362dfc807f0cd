// Kubernetes' list functions.
import { compare, equal } from "../compare.ts";
import { binaryOperators } from "../operators.ts";
import { CelError, some, type CelValue } from "../values.ts";
import { list, type Library } from "./library.ts";

function ordered(a: CelValue, b: CelValue): number {
  const order = compare(a, b);
  if (order === undefined) throw new CelError("no such overload");
  return order;
}

function isSorted(self: CelValue): CelValue {
  const items = list(self);
  return items.every((item, i) => i === 0 || ordered(items[i - 1] as CelValue, item) <= 0);
}

function sum(self: CelValue): CelValue {
  const add = binaryOperators["+"];
  const items = list(self);
  if (!add || items.length === 0) return 0n;
  return items.slice(1).reduce((total, item) => add(total, item), items[0] as CelValue);
}

function extreme(name: string, better: (order: number) => boolean) {
  return (self: CelValue): CelValue => {
    const items = list(self);
    if (items.length === 0) throw new CelError(`${name} called on empty list`);
    return items.reduce((best, item) => (better(ordered(item, best)) ? item : best));
  };
}

export const lists: Library = {
  functions: {},
  methods: {
    list: {
      first: (self) => some(list(self)[0]),
      last: (self) => some(list(self).at(-1)),
      isSorted,
      sum,
      min: extreme("min", (order) => order < 0),
      max: extreme("max", (order) => order > 0),
      indexOf: (self, item) => BigInt(list(self).findIndex((other) => equal(item ?? null, other))),
      lastIndexOf: (self, item) => BigInt(list(self).findLastIndex((other) => equal(item ?? null, other))),
    },
  },
};
