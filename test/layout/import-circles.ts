// Import circles: files that import each other, directly or through others. A type-only import counts: it is a dependency for who reads.
import type { SourceFile } from "./source-tree.ts";

/** Every strongly connected group of two or more files, and every file that imports itself; each group sorted, the groups sorted by their first file. */
export function importCircles(files: readonly Pick<SourceFile, "path" | "imports">[]): string[][] {
  const importsOf = new Map(files.map(({ path, imports }) => [path, imports]));
  const found = stronglyConnected(importsOf).filter(
    (group) => group.length > 1 || group.some((path) => importsOf.get(path)?.includes(path)),
  );
  return found.map((group) => group.toSorted()).sort((one, other) => (one[0]! < other[0]! ? -1 : 1));
}

interface Visit {
  order: number;
  /** The earliest visit on the stack that this one reaches. */
  reaches: number;
  onStack: boolean;
}

/** Tarjan's algorithm. */
function stronglyConnected(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const visits = new Map<string, Visit>();
  const stack: string[] = [];
  const groups: string[][] = [];

  function visit(node: string): Visit {
    const own: Visit = { order: visits.size, reaches: visits.size, onStack: true };
    visits.set(node, own);
    stack.push(node);
    for (const target of edges.get(node) ?? []) {
      if (!edges.has(target)) continue;
      const next = visits.get(target);
      if (!next) own.reaches = Math.min(own.reaches, visit(target).reaches);
      else if (next.onStack) own.reaches = Math.min(own.reaches, next.order);
    }
    if (own.reaches === own.order) groups.push(popUntil(node));
    return own;
  }

  function popUntil(node: string): string[] {
    const group = stack.splice(stack.lastIndexOf(node));
    for (const member of group) visits.get(member)!.onStack = false;
    return group;
  }

  for (const node of edges.keys()) if (!visits.has(node)) visit(node);
  return groups;
}
