// A measured number and what it is held against; medians; and how a run is printed.

/** A goal that a figure must keep. */
export type Goal = { max: number } | { min: number };

export interface Figure {
  name: string;
  value: number;
  unit: string;
  /** Undefined for a figure that is only shown. */
  goal: Goal | undefined;
  ok: boolean;
}

export function figure(name: string, value: number, unit: string, goal?: Goal): Figure {
  return { name, value: rounded(value), unit, goal, ok: meetsGoal(value, goal) };
}

/** Not a number keeps no goal. */
function meetsGoal(value: number, goal: Goal | undefined): boolean {
  if (!goal) return true;
  return "max" in goal ? value <= goal.max : value >= goal.min;
}

/** Three digits, which is more than any of these measurements is good for. */
function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

/** The middle one. @throws Error without values */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.ceil((sorted.length - 1) / 2)]];
  if (low === undefined || high === undefined) throw new Error("no values, no median");
  return (low + high) / 2;
}

/** A table for people. */
export function formatTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, unit, goal, ok }) => [
    ok ? (goal ? "✓" : " ") : "✗",
    name,
    String(value),
    unit,
    goal ? goalText(goal) : "",
  ]);
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => (at === 2 ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join("  ")
      .trimEnd();
  return rows.map(line).join("\n");
}

/** Prints them before the end of a long run, so that they are not lost should it be ended. */
export function told(figures: Figure[]): Figure[] {
  process.stderr.write(`${formatTable(figures)}\n`);
  return figures;
}

function goalText(goal: Goal): string {
  return "max" in goal ? `goal: ${goal.max} or less` : `goal: ${goal.min} or more`;
}
