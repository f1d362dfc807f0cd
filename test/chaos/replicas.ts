// The replicas of the platform as child processes, to be killed and started again.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import { freePort } from "../cluster/free-port.ts";

/** Options of a replica. */
export interface ReplicaOptions {
  access: { server: string; ca: string };
  token: string;
  data: string;
  port: number;
  operations: string;
  /** 10 unless said. */
  leaseSeconds?: number;
}

export interface Replicas {
  /** Addresses of their APIs; the same after a restart. */
  urls: string[];
  kill(which: number): Promise<void>;
  /** Starts those that do not run, and waits until all serve. @throws Error with the log's end when one does not in three minutes */
  startAll(): Promise<void>;
  /** Starts it unless it runs, and does not wait. */
  start(which: number): void;
  /** Resolves when it serves. @throws Error with the log's end when it does not in three minutes */
  untilReady(which: number): Promise<void>;
  /** SIGSTOP: it stands still and its connections stay open. */
  pause(which: number): void;
  /** SIGCONT. */
  resume(which: number): void;
  /** Lets it finish its work and give up its Leases; resolves when it is gone. */
  end(which: number): Promise<void>;
  /** Resolves when no controller of any replica that runs has work in hand. */
  idle(): Promise<void>;
  /** The Leases by which it leads; none when it does not run. */
  leads(which: number): Promise<string[]>;
  /** The end of what a replica logged. */
  log(which: number): string;
  stop(): Promise<void>;
}

const READY_MS = 180_000;

/** Makes `count` replicas that do not run yet. */
export async function createReplicas(
  count: number,
  options: Omit<ReplicaOptions, "port">,
  dir: string,
): Promise<Replicas> {
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()));
  const children = new Map<number, ChildProcess>();
  const logOf = (which: number): string => join(dir, `replica-${which}.log`);
  const start = (which: number): void => {
    if (children.has(which)) return;
    const log = openSync(logOf(which), "a");
    const given: ReplicaOptions = { ...options, port: ports[which] ?? 0 };
    const child = fork(join(import.meta.dirname, "replica-process.ts"), [JSON.stringify(given)], {
      stdio: ["ignore", log, log, "ipc"],
      env: { ...process.env, NODE_COMPILE_CACHE: join(dir, "compiled") },
    });
    closeSync(log);
    // Several may wait for it to be idle.
    child.setMaxListeners(50);
    children.set(which, child);
    child.on("exit", () => {
      if (children.get(which) === child) children.delete(which);
    });
  };
  const readLog = (which: number): string => readFileSync(logOf(which), "utf8").slice(-3000);
  const untilReady = async (which: number): Promise<void> => {
    const deadline = Date.now() + READY_MS;
    start(which);
    while (!(await isReady(ports[which] ?? 0))) {
      // A replica that could not start under faults ends; without faults it must start.
      start(which);
      if (Date.now() > deadline)
        throw new Error(`replica ${which} is not ready within ${READY_MS / 1000} s:\n${readLog(which)}`);
      await delay(50);
    }
  };
  return {
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    start,
    log: readLog,
    async kill(which) {
      const child = children.get(which);
      if (!child) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
    async startAll() {
      for (const which of ports.keys()) await untilReady(which);
    },
    untilReady,
    pause: (which) => void children.get(which)?.kill("SIGSTOP"),
    resume: (which) => void children.get(which)?.kill("SIGCONT"),
    end: async (which) => {
      const child = children.get(which);
      if (child) await end(child);
    },
    leads: async (which) => {
      const child = children.get(which);
      return (child && (await ask<string[]>(child, "leads"))) ?? [];
    },
    idle: async () => void (await Promise.all([...children.values()].map((child) => ask(child, "idle")))),
    stop: async () => void (await Promise.all([...children.values()].map(end))),
  };
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.disconnect();
  const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(late);
}

let asked = 0;

/** The answer to a question of replica-process.ts; undefined when the process ends before it answers. */
function ask<T>(child: ChildProcess, question: string): Promise<T | undefined> {
  const id = ++asked;
  return new Promise((resolve) => {
    const done = (value?: T): void => {
      child.off("message", onMessage).off("exit", onExit);
      resolve(value);
    };
    const onExit = (): void => done();
    const onMessage = (message: unknown): void => {
      const answer = message as { id: number; value?: T };
      if (answer.id === id) done(answer.value);
    };
    child.on("message", onMessage).on("exit", onExit);
    child.send({ id, question }, (error) => error && done());
  });
}

async function isReady(port: number): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`http://127.0.0.1:${port}/readyz`, {
      reset: true,
      headersTimeout: 5000,
    });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false; // not listening yet
  }
}
