// How far two words are apart, to find the one that was meant.

/** Letters to add, remove or change, or to swap with the next one. */
export function editDistance(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const change = at(row, j - 1) + (one[i - 1] === other[j - 1] ? 0 : 1);
      const swap = isSwapped(one, other, { i, j }) ? at(before, j - 2) + 1 : Infinity;
      next.push(Math.min(at(row, j) + 1, at(next, j - 1) + 1, change, swap));
    }
    [before, row] = [row, next];
  }
  return at(row, other.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}

function isSwapped(one: string, other: string, { i, j }: { i: number; j: number }): boolean {
  return i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
}
