// Runs one cf: with what a person types, and for commands without an end until its output matches.
import { spawn } from "node:child_process";
import type { CommandResult } from "../../support/test-platform.ts";

export interface CfRun {
  args: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** Written to stdin, which is closed then. */
  input?: string;
  /** Stops cf, which counts as 0, once this holds of its output. */
  until?: (output: string) => boolean;
  deadlineMs: number;
}

/** `output` is stdout and stderr as they came. `code` is null when the deadline passed. */
export function runCf({ args, cwd, env, input, until, deadlineMs }: CfRun): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.env["CF_BIN"] ?? "cf", args, { cwd, env: { ...process.env, ...env } });
    let output = "";
    let isStopped = false;
    const take = (chunk: string): void => {
      output += chunk;
      if (!until?.(output)) return;
      isStopped = true;
      child.kill("SIGKILL");
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    // A cf that ends without having read all is no failure of the test.
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
    const timer = setTimeout(() => {
      output += `\ncf did not end within ${deadlineMs / 1000} s\n`;
      child.kill("SIGKILL");
    }, deadlineMs);
    child.on("error", (cause) => reject(new Error("cf could not be started", { cause })));
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code: isStopped ? 0 : code, output });
    });
  });
}
