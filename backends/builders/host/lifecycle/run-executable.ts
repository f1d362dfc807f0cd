// Runs one executable of a buildpack: logs its output line by line and keeps the last lines for the error.
import { spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import type { Readable } from "node:stream";
import type { Environment } from "../../../host/host-environment.ts";

/** Receives the build's output, as lines without a line end. */
export type LineSink = (stream: "OUT" | "ERR", line: string) => void;

/** The result. `status` is the exit status, or the name of the signal. */
export interface RunResult {
  status: number | NodeJS.Signals;
  /** The last lines that it printed, of stderr if there are any. */
  lastOutput: string;
}

export interface RunOptions {
  args: readonly string[];
  cwd: string;
  env: Environment;
  log: LineSink;
}

const keptLines = 12;
const maxLine = 60_000;

/** Runs `file` in the caller's process group, so that killing the group ends it, too. */
export async function runExecutable(file: string, options: RunOptions): Promise<RunResult> {
  const child = spawn(file, options.args, { cwd: options.cwd, env: options.env, stdio: ["ignore", "pipe", "pipe"] });
  const kept: Record<"OUT" | "ERR", string[]> = { OUT: [], ERR: [] };
  const readers: Interface[] = [];
  const follow = async (stream: "OUT" | "ERR", source: Readable): Promise<void> => {
    const lines = createInterface({ input: source, crlfDelay: Infinity });
    readers.push(lines);
    for await (const raw of lines) {
      const line = raw.slice(0, maxLine);
      options.log(stream, line);
      if (line.trim() !== "") kept[stream].push(line.slice(0, 1000));
      if (kept[stream].length > keptLines) kept[stream].shift();
    }
  };
  const exited = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once("error", (cause) => reject(new Error(`${file} cannot be run`, { cause })));
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "SIGKILL"));
  });
  // Wait for the exit, not for the pipes: a background process may hold those open for ever.
  const stopReading = (): void => {
    for (const reader of readers) reader.close();
    child.stdout.destroy();
    child.stderr.destroy();
  };
  exited.then(() => setTimeout(stopReading, 1000).unref(), stopReading);
  const [status] = await Promise.all([exited, follow("OUT", child.stdout), follow("ERR", child.stderr)]);
  return { status, lastOutput: (kept.ERR.length > 0 ? kept.ERR : kept.OUT).join("\n") };
}
