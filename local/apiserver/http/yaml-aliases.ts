// Aliases of YAML make graphs; an object of the API is a tree. Written out, one may be endless or very large.

/** Values that a body may have once its aliases are written out. */
const MAX_VALUES = 500_000;

/** Why a value is no tree of a bearable size, in the words of Kubernetes' YAML parser; undefined when it is one. */
export function aliasProblem(value: unknown, maxValues = MAX_VALUES): string | undefined {
  const ancestors = new Set<object>();
  let left = maxValues;
  function visit(node: unknown): string | undefined {
    if (--left < 0) return "yaml: document contains excessive aliasing";
    if (typeof node !== "object" || node === null) return undefined;
    if (ancestors.has(node)) return "yaml: anchor value contains itself";
    ancestors.add(node);
    for (const child of Object.values(node)) {
      const problem = visit(child);
      if (problem) return problem;
    }
    ancestors.delete(node);
    return undefined;
  }
  return visit(value);
}
