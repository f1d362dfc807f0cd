// Runs a tool of the project as one test of `npm test` or `npm run check`.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runCommand } from "./run-command.ts";
import { NOTHING, type Count } from "./test-counts.ts";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** The program of an installed package. */
export const bin = (name: string): string => join(root, "node_modules", ".bin", name);

/** Where a tool remembers the files that it has looked at. */
export const cache = (name: string): string => join(root, "node_modules", ".cache", name);

/** Types are checked against the last run's, in any mode. */
export const TYPE_CHECK: [string, ...string[]] = [
  bin("tsc"),
  "--noEmit",
  "--incremental",
  "--tsBuildInfoFile",
  cache("tsc.json"),
];

const DEADLINE_MS = 600_000;

/** Passes when the command exits with 0; has its output when it fails. */
export async function runCheck(
  command: [string, ...string[]],
  env: Record<string, string> = {},
): Promise<Count & { output?: string }> {
  const { code, output } = await runCommand(command, { cwd: root, deadlineMs: DEADLINE_MS, env });
  return code === 0 ? { ...NOTHING, passed: 1 } : { ...NOTHING, failed: 1, output };
}
