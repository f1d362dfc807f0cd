// YAML aliases make graphs, but API objects are trees. An expanded graph may be endless or very large.

/** Values that a body may have once its aliases are written out. */
const MAX_VALUES = 500_000;

/** The problem of a value that is no tree or too large, in the words of Kubernetes' YAML parser; undefined when there is none. */
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
