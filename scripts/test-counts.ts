// Counts of tests: read from what each runner leaves, summed, and written as the closing line.
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";

export interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

const vitestReport = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int().default(0),
});

/** Reads vitest's JSON report. A run that wrote none counts as one failure. */
export function readVitestReport(path: string): Count {
  if (!existsSync(path)) return { passed: 0, failed: 1, skipped: 0 };
  const report = vitestReport.parse(JSON.parse(readFileSync(path, "utf8")));
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** `3 passed, 0 failed`, and `, 1 skipped` where something was. */
export function closingLine({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** The last closing line, alone on its line, in a runner's output; undefined when there is none. */
export function parseClosingLine(output: string): Count | undefined {
  const last = [...output.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)].at(-1);
  return last && { passed: Number(last[1]), failed: Number(last[2]), skipped: Number(last[3] ?? 0) };
}

export function sum(counts: Count[]): Count {
  return counts.reduce(
    (a, b) => ({ passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped }),
    { passed: 0, failed: 0, skipped: 0 },
  );
}
