// The namespaces of one node: network, mounts, processes, host name and IPC. When PID 1 in them dies, everything in them dies.
import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startGuarded, type GuardedProcess } from "../guarded-process.ts";

/** A program in a node's namespaces. */
export interface NodeProcess {
  name: string;
  running(): boolean;
  /** The end of what it wrote. */
  log(): string;
  signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void;
  exited: Promise<unknown>;
}

export interface NamespacesOptions {
  /** Host name within. */
  name: string;
  /** The node's folder. */
  dir: string;
  /** Environment of all its programs. */
  env: NodeJS.ProcessEnv;
  /** Shell command that removes what is left should this process die. */
  onOrphan: string;
}

const PROGRAM_DEADLINE_MS = 60_000;
const START_DEADLINE_MS = 30_000;
const scripts = fileURLToPath(new URL(".", import.meta.url));

/** The shell command that removes what nodes leave: their folder, and cgroups that begin with `cgroupPrefix`. */
export function cleanUpCommand(dir: string, cgroupPrefix: string): [string, ...string[]] {
  return ["sh", join(scripts, "clean-up.sh"), dir, cgroupPrefix];
}

/** The namespaces of a node, with nothing in them but PID 1. */
export class Namespaces {
  /** PID 1, as this machine counts. */
  readonly pid: number;
  readonly name: string;
  readonly #guard: GuardedProcess;
  readonly #options: NamespacesOptions;

  private constructor(pid: number, guard: GuardedProcess, options: NamespacesOptions) {
    this.pid = pid;
    this.name = options.name;
    this.#guard = guard;
    this.#options = options;
  }

  /** Throws with the log of PID 1 when it does not come up. */
  static async start(options: NamespacesOptions): Promise<Namespaces> {
    const { dir, name } = options;
    mkdirSync(join(dir, "log"), { recursive: true });
    const unshare = "unshare --net --mount --pid --uts --ipc --fork --kill-child --propagation private --";
    // The guard may be killed, too: then unshare gets the same signal, and PID 1 with it.
    const command = `echo $$ >"$1/unshare.pid"; exec setpriv --pdeathsig KILL -- ${unshare} sh "$0" "$1" "$2"`;
    const guard = startGuarded(["sh", "-c", command, join(scripts, "init.sh"), dir, name], {
      name,
      logFile: join(dir, "log", "init.log"),
      onOrphan: options.onOrphan,
    });
    const deadline = Date.now() + START_DEADLINE_MS;
    while (!existsSync(join(dir, "ready"))) {
      if (!guard.running() || Date.now() > deadline) {
        await guard.kill();
        throw new Error(`the namespaces of ${name} could not be made:\n${guard.log()}`);
      }
      await delay(10);
    }
    const [pid] = childrenOf(Number(readFileSync(join(dir, "unshare.pid"), "utf8")));
    if (pid === undefined) throw new Error(`PID 1 of ${name} is gone:\n${guard.log()}`);
    return new Namespaces(pid, guard, options);
  }

  /** Starts a program that stays. Its log is a file of its name. */
  start(name: string, command: readonly string[]): NodeProcess {
    const logFile = join(this.#options.dir, "log", `${name}.log`);
    const log = openSync(logFile, "a");
    const child = spawn("nsenter", [...this.#enter(), ...command], {
      stdio: ["ignore", log, log],
      env: this.#options.env,
      // A group of its own: a Ctrl-C is for stop() alone.
      detached: true,
    });
    closeSync(log);
    child.unref();
    const exited = new Promise((resolve) => {
      child.on("error", resolve);
      child.on("exit", resolve);
    });
    return {
      name,
      exited,
      running: () => child.exitCode === null && child.signalCode === null,
      log: () => readFileSync(logFile, "utf8").split("\n").slice(-25).join("\n"),
      signal: (signal) => {
        if (child.pid === undefined || child.exitCode !== null) return;
        // nsenter stops when its child stops, and passes a SIGCONT on.
        const pids = signal === "SIGCONT" ? [child.pid] : childrenOf(child.pid);
        for (const pid of pids) process.kill(pid, signal);
      },
    };
  }

  /** Runs a program to its end and returns what it printed. Throws with its errors when it fails or takes a minute. */
  async run(command: readonly string[], input = ""): Promise<string> {
    return await runProgram(["nsenter", ...this.#enter(), ...command], input, this.#options.env);
  }

  running(): boolean {
    return this.#guard.running();
  }

  /** Kills everything in them. Resolves when it is gone. */
  async stop(): Promise<void> {
    await this.#guard.kill();
    while (existsSync(`/proc/${this.pid}`)) await delay(10);
  }

  #enter(): string[] {
    return ["--target", String(this.pid), "--net", "--mount", "--pid", "--uts", "--ipc", "--"];
  }
}

/** Runs a program on the machine. Throws with its errors when it fails or takes a minute. */
export async function runProgram(
  [program, ...args]: readonly string[],
  input = "",
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const child = spawn(program!, args, { stdio: ["pipe", "pipe", "pipe"], env, timeout: PROGRAM_DEADLINE_MS });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)));
  // A program may end before it has read its input; its exit code says whether that is bad.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const code = await new Promise((resolve, reject) => {
    child.on("error", (cause) => reject(new Error(`${program} could not be started`, { cause })));
    child.on("close", resolve);
  });
  if (code !== 0) throw new Error(`${program} ${args.slice(-6).join(" ")} failed:\n${errors}${output.slice(-2000)}`);
  return output;
}

function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, "utf8").trim().split(" ").filter(Boolean).map(Number) : [];
}
