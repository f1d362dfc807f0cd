// The process of an instance: started now, or adopted after a restart of the platform.
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type { ExitProblem } from "../../../crds/lrp/instance-problem.ts";
import { waitForExit } from "./usage-meter.ts";
import { findProcess } from "../../host/process-table.ts";
import type { InstanceFiles } from "./instance-record.ts";

/** The end of a process. Both are undefined for an adopted process, since it is not our child. */
export interface Exit {
  code?: number;
  signal?: string;
}

/** A running process that leads its own group and session. */
export interface LiveProcess {
  pid: number;
  identity: string;
  /** Resolves when the leader is gone; never rejects. */
  exited: Promise<Exit>;
}

/** Spawns the command in a new session, with its output in the instance's files. @throws Error when it cannot be started */
export async function startProcess(
  launch: { command: string[]; env: Record<string, string>; cwd: string },
  files: InstanceFiles,
): Promise<LiveProcess> {
  const [file = "", ...args] = launch.command;
  const out = openSync(files.stdout, "a");
  const err = openSync(files.stderr, "a");
  try {
    const child = spawn(file, args, { cwd: launch.cwd, env: launch.env, stdio: ["ignore", out, err], detached: true });
    const exited = new Promise<Exit>((resolve) =>
      child.once("exit", (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined })),
    );
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (cause) =>
        reject(new Error(`${file} cannot be started in ${launch.cwd}: ${cause.message}`, { cause })),
      );
    });
    child.unref();
    const pid = child.pid ?? 0;
    const row = await findProcess(pid);
    return { pid, identity: row?.identity ?? "gone", exited };
  } finally {
    closeSync(out);
    closeSync(err);
  }
}

/** The process of an earlier run, watched until `signal` aborts; undefined when it has ended. */
export async function adoptProcess(
  known: { pid: number; identity: string },
  signal: AbortSignal,
): Promise<LiveProcess | undefined> {
  const row = await findProcess(known.pid);
  if (row?.identity !== known.identity) return undefined;
  return { ...known, exited: waitForExit(known.pid, known.identity, signal).then(() => ({})) };
}

/** The exit as an instance's problem; a signal is 128 and its number, as in a shell. */
export function toExitProblem({ code, signal }: Exit, processType: string): ExitProblem {
  if (signal) return { kind: "exited", processType, status: 128 + (signalNumbers[signal] ?? 0), signal };
  return { kind: "exited", processType, ...(code !== undefined && { status: code }) };
}

const signalNumbers: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
};
