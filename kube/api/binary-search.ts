// Binary search in whatever is in order.

/** The first place from `from` to `to` that does not pass, where those that pass come first; `to` when all do. */
export function firstFailing(from: number, to: number, passes: (at: number) => boolean): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (passes(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
