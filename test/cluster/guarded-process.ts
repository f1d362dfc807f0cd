// A child process that cannot outlive us: in a group of its own, with a watchdog that kills it when we are gone, kill -9 included.
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";

/** A running child. `log()` is the end of what it wrote; `exited` settles when it is gone. */
export interface GuardedProcess {
  name: string;
  exited: Promise<number | null>;
  running(): boolean;
  log(): string;
  /** SIGKILL: what runs here keeps nothing that outlives the test. Resolves when the process is gone and its port free. */
  kill(): Promise<void>;
}

// The shell holds our end of a pipe as descriptor 3. When we die, by whatever signal, the kernel closes it and `cat` ends: the shell then
// kills the child and runs CLEAN, since nobody else will. When the child ends by itself, the watcher goes with it. Told to end, the shell
// waits for the child that it kills: a process is not gone at once, least of all on a busy machine.
const guard = `
exec 3<&0
"$@" 3<&- </dev/null & child=$!
trap 'kill -KILL $child; wait $child; exit' TERM
trap 'kill -KILL $child; sleep 1; sh -c "$CLEAN"; exit 1' USR1
{ cat <&3 >/dev/null; kill -USR1 $$; } >/dev/null 2>&1 & watcher=$!
wait $child; code=$?
kill -KILL $watcher 2>/dev/null
exit $code`;

/** Starts `command` with its output in `logFile`. `onOrphan` is a shell command to run after the kill should we die without stopping it. */
export function startGuarded(
  command: [string, ...string[]],
  options: { name: string; logFile: string; onOrphan?: string },
): GuardedProcess {
  const log = openSync(options.logFile, "a");
  const child = spawn("sh", ["-c", guard, options.name, ...command], {
    detached: true,
    stdio: ["pipe", log, log],
    env: { ...process.env, CLEAN: options.onOrphan ?? "" },
  });
  closeSync(log);
  child.unref();
  const exited = new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(null));
    child.on("exit", (code) => resolve(code));
  });
  const running = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    name: options.name,
    exited,
    running,
    log: () => readFileSync(options.logFile, "utf8").split("\n").slice(-25).join("\n"),
    kill: async () => {
      child.ref();
      child.kill("SIGTERM");
      await exited;
      killGroup(child);
    },
  };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
