// Counts of tests: summed, written as the closing line, and read from it.

export interface Count {
  passed: number;
  failed: number;
  skipped: number;
  /** Tests that failed and passed when they were run again, with the first line of the error. */
  flaky: string[];
}

export const NOTHING: Count = { passed: 0, failed: 0, skipped: 0, flaky: [] };

/** `3 passed, 0 failed`, and `, 1 skipped` where something was. */
export function closingLine({ passed, failed, skipped }: Omit<Count, "flaky">): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

const FLAKY = "flaky: ";

/** A line for each flaky test, then the closing line. */
export function closingLines(count: Count): string {
  return [...count.flaky.map((test) => FLAKY + test), closingLine(count)].join("\n");
}

/** The last closing line, alone on its line, in a runner's output, and its flaky tests; undefined when there is none. */
export function parseClosingLines(output: string): Count | undefined {
  const last = [...output.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)].at(-1);
  if (!last) return undefined;
  const flaky = output.split("\n").filter((line) => line.startsWith(FLAKY));
  return {
    passed: Number(last[1]),
    failed: Number(last[2]),
    skipped: Number(last[3] ?? 0),
    flaky: flaky.map((line) => line.slice(FLAKY.length)),
  };
}

export function sum(counts: Count[]): Count {
  return counts.reduce(
    (a, b) => ({
      passed: a.passed + b.passed,
      failed: a.failed + b.failed,
      skipped: a.skipped + b.skipped,
      flaky: [...a.flaky, ...b.flaky],
    }),
    NOTHING,
  );
}
