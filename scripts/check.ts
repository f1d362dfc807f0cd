// `npm run check`: what the changes since main touch, in half a minute: types, lint, format, layout, the unit tests that load a changed file and the contract tests that changed. Ends in one line with their count.
import pLimit from "p-limit";
import { changedFiles, isTypeScript } from "./changed-files.ts";
import { lintFiles } from "./lint.ts";
import { bin, root, runCheck, TYPE_CHECK } from "./run-check.ts";
import { runVitest } from "./run-vitest.ts";
import { closingLine, NOTHING, sum, type Count } from "./test-counts.ts";

type Outcome = Count & { output?: string };
const nothing = (): Promise<Outcome> => Promise.resolve(NOTHING);

async function tests(args: string[], files: string[] = []): Promise<Outcome> {
  const options = { cwd: root, deadlineMs: 600_000 };
  const { count, output, hasFailed } = await runVitest({ args: ["--passWithNoTests", ...args], files, options });
  return { ...count, ...(hasFailed && { output }) };
}

const { base, files } = await changedFiles();
const sources = files.filter(isTypeScript);
const changedTests = files.filter((path) => path.endsWith(".test.ts"));
console.log(`${files.length} files changed since ${base.slice(0, 12)}`);

const PRETTIER = [bin("prettier"), "--check", "--log-level=warn", "--ignore-unknown"] as const;
/** The longest first; two at a time, as in `npm test`. */
const stages: Record<string, () => Promise<Outcome>> = {
  "unit tests": () => tests(["--project=unit", `--changed=${base}`]),
  types: () => runCheck(TYPE_CHECK),
  lint: () => lintFiles(sources),
  layout: () => tests(["--project=unit"], ["test/layout"]),
  format: sources.length > 0 ? () => runCheck([...PRETTIER, ...sources]) : nothing,
  "contract tests": changedTests.length > 0 ? () => tests(["--project=contract"], changedTests) : nothing,
};

async function run(name: string, stage: () => Promise<Outcome>): Promise<Count> {
  const started = performance.now();
  const { output, ...count } = await stage();
  console.log(`${name}: ${closingLine(count)} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  if (output) console.log(output);
  return count;
}

const twoAtATime = pLimit(2);
const total = sum(await Promise.all(Object.entries(stages).map((stage) => twoAtATime(run, ...stage))));
console.log(closingLine(total));
process.exitCode = total.failed > 0 ? 1 : 0;
