// `npm run check`: what the changes since main touch, in half a minute: types, lint, format, layout and the unit tests that load a changed file. Ends in one line with their count.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { bin, root, runCheck, TYPE_CHECK } from "./run-check.ts";
import { runCommand } from "./run-command.ts";
import { runVitest } from "./run-vitest.ts";
import { closingLine, NOTHING, sum, type Count } from "./test-counts.ts";

const options = { cwd: root, deadlineMs: 600_000 };

async function git(...args: string[]): Promise<string> {
  const { code, output } = await runCommand(["git", ...args], options);
  return code === 0 ? output.trim() : "";
}

async function check(...command: [string, ...string[]]): Promise<Count> {
  const { output, ...count } = await runCheck(command);
  if (output) console.log(output);
  return count;
}

async function unitTests(...args: string[]): Promise<Count> {
  const { count, output, hasFailed } = await runVitest({ args: ["--project=unit", ...args], files: [], options });
  if (hasFailed) console.log(output);
  return count;
}

const base = (await git("merge-base", "HEAD", "main")) || "HEAD";
const names = [await git("diff", "--name-only", base), await git("ls-files", "--others", "--exclude-standard")];
const changed = names.flatMap((text) => text.split("\n")).filter((path) => path && existsSync(join(root, path)));
const sources = changed.filter((path) => path.endsWith(".ts"));
console.log(`${changed.length} files changed since ${base.slice(0, 12)}`);

const onSources = (...command: [string, ...string[]]): Promise<Count> =>
  sources.length > 0 ? check(...command, ...sources) : Promise.resolve(NOTHING);
const total = sum([
  ...(await Promise.all([
    check(...TYPE_CHECK),
    onSources(bin("eslint"), "--max-warnings=0", "--no-warn-ignored"),
    onSources(bin("prettier"), "--check", "--log-level=warn", "--ignore-unknown"),
  ])),
  await unitTests("--passWithNoTests", `--changed=${base}`),
  await unitTests("test/layout"),
]);
console.log(closingLine(total));
process.exitCode = total.failed > 0 ? 1 : 0;
