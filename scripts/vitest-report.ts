// Counts of vitest's JSON report, file by file, also when failed files were run again.
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { NOTHING, sum, type Count } from "./test-counts.ts";

/** The tests of one file. */
export interface FileResult {
  /** Absolute. */
  file: string;
  /** Also when a hook or an import failed, and so no test. */
  failed: boolean;
  count: Count;
  /** The full name of each failed test and the first line of its error. */
  failures: string[];
}

const vitestTest = z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()) });
const vitestFile = z.object({
  name: z.string(),
  status: z.string(),
  message: z.string().default(""),
  assertionResults: z.array(vitestTest),
});
const vitestReport = z.object({ testResults: z.array(vitestFile) });

/** Reads a report; undefined when the run wrote none. */
export function readVitestReport(path: string): FileResult[] | undefined {
  if (!existsSync(path)) return undefined;
  return vitestReport.parse(JSON.parse(readFileSync(path, "utf8"))).testResults.map(toFileResult);
}

/** Files that vitest's output names as the origin of an error outside tests (an unhandled rejection) have failed, too. */
export function withUnhandledErrors(files: readonly FileResult[], output: string): FileResult[] {
  const origins = [...output.matchAll(/^This error originated in "([^"]+)" test file/gm)].map(([, path = ""]) => path);
  return files.map((result) => {
    if (!origins.some((path) => result.file.endsWith(path))) return result;
    const failures = [...result.failures, `${result.file}: an error outside its tests`];
    return { ...result, failed: true, failures, count: { ...result.count, failed: result.count.failed + 1 } };
  });
}

/** The sum of all files; a run without a report is one failure. */
export function countFiles(files: readonly FileResult[] | undefined): Count {
  return files ? sum(files.map(({ count }) => count)) : { ...NOTHING, failed: 1 };
}

/** Files count as their second run says; those that passed then are flaky, by each failure of the first. */
export function withSecondRun(first: readonly FileResult[], second: readonly FileResult[] | undefined): FileResult[] {
  const again = new Map(second?.map((result) => [result.file, result]));
  return first.map((result) => {
    const repeated = again.get(result.file);
    if (!repeated) return result;
    const flaky = repeated.failed ? [] : result.failures;
    return { ...repeated, count: { ...repeated.count, flaky: [...repeated.count.flaky, ...flaky] } };
  });
}

function toFileResult({ name, status, message, assertionResults }: z.infer<typeof vitestFile>): FileResult {
  const of = (wanted: string) => assertionResults.filter((each) => each.status === wanted);
  const hasFailed = status === "failed";
  const failures = of("failed").map(toFailure);
  // A hook or an import that fails leaves no failed test.
  if (hasFailed && failures.length === 0) failures.push(`${name}: ${message.split("\n")[0]}`);
  return {
    file: name,
    failed: hasFailed,
    failures,
    count: {
      passed: of("passed").length,
      failed: failures.length,
      skipped: assertionResults.length - of("passed").length - of("failed").length,
      // Vitest keeps the errors of earlier attempts.
      flaky: of("passed")
        .filter(({ failureMessages }) => failureMessages.length > 0)
        .map(toFailure),
    },
  };
}

function toFailure({ fullName, failureMessages: [first = ""] }: z.infer<typeof vitestTest>): string {
  return `${fullName}: ${first.split("\n")[0]}`;
}
