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
}

export interface Replicas {
  /** Addresses of their APIs; the same after a restart. */
  urls: string[];
  kill(which: number): Promise<void>;
  /** Starts those that do not run, and waits until all serve. @throws Error with the log's end when one does not in 90 s */
  startAll(): Promise<void>;
  /** Starts it unless it runs, and does not wait. */
  start(which: number): void;
  /** Resolves when no controller of any replica that runs has work in hand. */
  idle(): Promise<void>;
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
      const deadline = Date.now() + READY_MS;
      for (const [which, port] of ports.entries()) {
        start(which);
        while (!(await isReady(port))) {
          // A replica that could not start under faults ends; without faults it must start.
          start(which);
          if (Date.now() > deadline)
            throw new Error(`replica ${which} is not ready within ${READY_MS / 1000} s:\n${readLog(which)}`);
          await delay(50);
        }
      }
    },
    idle: async () => void (await Promise.all([...children.values()].map(waitForIdle))),
    async stop() {
      await Promise.all(
        [...children.values()].map(async (child) => {
          const ended = once(child, "exit");
          child.disconnect();
          const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
          await ended;
          clearTimeout(late);
        }),
      );
    },
  };
}

function waitForIdle(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      child.off("message", done).off("exit", done);
      resolve();
    };
    child.on("message", done).on("exit", done);
    child.send({ id: 1, question: "idle" }, (error) => error && done());
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
