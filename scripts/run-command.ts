// Runs one command of a script to its end, within a deadline, and keeps the end of its output.
import { spawn } from "node:child_process";

export interface CommandOptions {
  cwd: string;
  deadlineMs: number;
  env?: Record<string, string>;
  /** Shows the output as it comes, too. */
  echo?: boolean;
}

const keptBytes = 4_000_000;

/** `output` is stdout and stderr as they came, its last four megabytes. `code` is null when the deadline passed or it died by a signal. */
export function runCommand(
  [program, ...args]: [string, ...string[]],
  options: CommandOptions,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const take = (chunk: string) => {
      output = (output + chunk).slice(-keptBytes);
      if (options.echo) process.stdout.write(chunk);
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    const timer = setTimeout(() => {
      take(`\n${program} did not end within ${options.deadlineMs / 1000} s\n`);
      child.kill("SIGKILL");
    }, options.deadlineMs);
    child.on("error", (cause) => reject(new Error(`${program} could not be started`, { cause })));
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code, output });
    });
  });
}
