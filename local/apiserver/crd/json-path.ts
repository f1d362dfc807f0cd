// The small JSONPath of CRDs (columns, scale, selectable fields): fields, indexes, `[*]`, `['a.b']` and equality filters.
type Step = { field: string } | { index: number } | { all: true } | { filter: { path: Step[]; value: string } };

const TOKEN =
  /\.((?:\\.|[^.[\]\\])+)|\[(\d+)\]|\[(\*)\]|\['((?:\\.|[^'])*)'\]|\["((?:\\.|[^"])*)"\]|\[\?\(\s*@((?:\.[^=\s.[]+|\[[^\]]*\])+)\s*==\s*["']([^"']*)["']\s*\)\]/y;

/** Parses a path such as `.status.conditions[?(@.type=="Ready")].status`; undefined when it is no such path. */
export function parseJsonPath(text: string): Step[] | undefined {
  const steps: Step[] = [];
  let at = 0;
  while (at < text.length) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) return undefined;
    steps.push(toStep(match));
    at += match[0].length;
  }
  return steps;
}

function toStep([, field, index, all, single, double, filterPath, filterValue]: RegExpExecArray): Step {
  if (field !== undefined) return field === "*" ? { all: true } : { field: field.replaceAll(/\\(.)/g, "$1") };
  if (index !== undefined) return { index: Number(index) };
  if (all !== undefined) return { all: true };
  if (filterPath !== undefined) return { filter: { path: parseJsonPath(filterPath) ?? [], value: filterValue ?? "" } };
  return { field: (single ?? double ?? "").replaceAll(/\\(.)/g, "$1") };
}

/** All values a path finds. */
export function findAll(steps: Step[], value: unknown): unknown[] {
  let values = [value];
  for (const step of steps) values = values.flatMap((each) => take(step, each));
  return values;
}

function take(step: Step, value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if ("field" in step) return Object.hasOwn(value, step.field) ? [(value as Record<string, unknown>)[step.field]] : [];
  if ("all" in step) return Object.values(value) as unknown[];
  if (!Array.isArray(value)) return [];
  if ("index" in step) return step.index < value.length ? [value[step.index] as unknown] : [];
  return (value as unknown[]).filter((item) =>
    findAll(step.filter.path, item).some((found) => String(found) === step.filter.value),
  );
}
