// The order of buildpacks: each lifecycle has a list of its own, whose positions are 1, 2, 3. Pure.

export interface Positioned {
  name: string;
  position: number;
}

/**
 * The positions that change when `moved` gets the wanted one and the others make room; a position beyond the end means the end. Without `moved` the others
 * close their gaps. `others` are in any order.
 */
export function planPositions(others: readonly Positioned[], moved?: { name: string; wanted: number }): Positioned[] {
  const ordered = others.toSorted((one, other) => one.position - other.position || (one.name < other.name ? -1 : 1));
  const names = ordered.map(({ name }) => name);
  if (moved) names.splice(Math.min(moved.wanted, names.length + 1) - 1, 0, moved.name);
  const before = new Map(others.map(({ name, position }) => [name, position]));
  return names
    .map((name, at) => ({ name, position: at + 1 }))
    .filter(({ name, position }) => before.get(name) !== position);
}
