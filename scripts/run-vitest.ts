// Runs vitest to its end and counts its tests. On CI, files that failed are run once more, each in a fresh process.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand, type CommandOptions } from "./run-command.ts";
import type { Count } from "./test-counts.ts";
import { countFiles, readVitestReport, withSecondRun, withUnhandledErrors, type FileResult } from "./vitest-report.ts";

export interface VitestRun {
  /** Arguments behind `vitest run`, without files. */
  args: string[];
  /** Names of files or parts of them; all when empty. */
  files: string[];
  options: CommandOptions;
}

/** `count` has a failure when vitest says so, even if no test failed. */
export async function runVitest(run: VitestRun): Promise<{ count: Count; output: string; hasFailed: boolean }> {
  const first = await runOnce(run);
  const failed = first.files?.filter((file) => file.failed).map(({ file }) => file) ?? [];
  if (!process.env["CI"] || failed.length === 0) return toOutcome(first, first.output);
  const second = await runOnce({ ...run, files: failed });
  const output = `${first.output}\n== once more: ${failed.join(", ")}\n${second.output}`;
  return toOutcome({ code: second.code, files: withSecondRun(first.files ?? [], second.files) }, output);
}

interface Once {
  code: number | null;
  files: FileResult[] | undefined;
}

async function runOnce({ args, files, options }: VitestRun): Promise<Once & { output: string }> {
  const folder = mkdtempSync(join(tmpdir(), "cupola-report-"));
  try {
    const report = join(folder, "vitest.json");
    const vitest = join(options.cwd, "node_modules", "vitest", "vitest.mjs");
    const { code, output } = await runCommand(
      [process.execPath, vitest, "run", "--reporter=json", `--outputFile.json=${report}`, ...args, ...files],
      { ...options, env: { NO_COLOR: "1", ...options.env } },
    );
    const reported = readVitestReport(report);
    return { code, files: reported && withUnhandledErrors(reported, output), output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function toOutcome({ code, files }: Once, output: string): { count: Count; output: string; hasFailed: boolean } {
  const count = countFiles(files);
  const broken = code !== 0 && count.failed === 0 ? 1 : 0;
  return { count: { ...count, failed: count.failed + broken }, output, hasFailed: code !== 0 };
}
