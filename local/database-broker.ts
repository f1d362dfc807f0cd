// Runs the broker of databases, examples/database-broker, as a process beside the platform: its start, its end, and its access.
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { z } from "zod";
import { readJson, writeJson, type Home } from "./home.ts";

/** Offerings that a laptop can have. */
export const DATABASES = ["postgres", "redis"] as const;
export type Database = (typeof DATABASES)[number];

const PROGRAM = join(import.meta.dirname, "..", "examples", "database-broker", "broker.cjs");
/** A first start makes a database server. */
const START_DEADLINE_MS = 90_000;
const STOP_DEADLINE_MS = 60_000;
const MAX_LINE = 2_000;

const access = z.object({ username: z.string(), password: z.string(), port: z.int() });
/** The broker's own credentials. Its port stays, since the platform knows it. */
export type BrokerAccess = z.output<typeof access>;

export interface RunningBroker {
  url: string;
  /** Resolves when the process is gone. */
  ended: Promise<unknown>;
  /** Ends the databases, too. */
  stop(): Promise<void>;
}

/** @throws Error with the last words of the program when it ends, or does not begin, before it listens */
export async function startDatabaseBroker(
  home: Home,
  database: Database,
  { log, signal }: { log: Logger; signal: AbortSignal },
): Promise<RunningBroker> {
  const folder = folderOf(home, database);
  const known = readBrokerAccess(home, database) ?? newAccess();
  const child = spawn(process.execPath, [PROGRAM, database], {
    env: {
      ...environment(folder),
      BROKER_USER: known.username,
      BROKER_PASSWORD: known.password,
      PORT: String(known.port),
    },
    // By IPC it learns that this process is gone.
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const ended = once(child, "close").catch(() => undefined);
  const kill = (): boolean => child.kill();
  signal.addEventListener("abort", kill);
  const port = await readPort(child, log.child({ broker: database }));
  signal.removeEventListener("abort", kill);
  writeJson(accessFile(folder), { ...known, port });
  return { url: `http://127.0.0.1:${port}`, ended, stop: () => stop(child, ended) };
}

async function stop(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_DEADLINE_MS).unref();
  await ended;
  clearTimeout(timer);
}

async function readPort(child: ChildProcess, log: Logger): Promise<number> {
  let lastLine = "";
  createInterface({ input: child.stderr! }).on("line", (line) => {
    lastLine = line.slice(0, MAX_LINE);
    log.warn(lastLine);
  });
  const listening = new Promise<number>((resolve) => {
    createInterface({ input: child.stdout! }).on("line", (line) => {
      const [, port] = /^listening at port (\d+)$/.exec(line) ?? [];
      if (port !== undefined) resolve(Number(port));
    });
  });
  const failed = new Promise<undefined>((resolve) => {
    child.once("error", ({ message }) => {
      lastLine = message;
      resolve(undefined);
    });
    child.once("close", () => resolve(undefined));
  });
  const port = await Promise.race([listening, failed, delay(START_DEADLINE_MS, undefined, { ref: false })]);
  if (port !== undefined) return port;
  child.kill("SIGKILL");
  throw new Error(lastLine || `it has not started in ${START_DEADLINE_MS / 1000} s`);
}

/** The access of a broker that has started here at least once. */
export function readBrokerAccess(home: Home, database: Database): BrokerAccess | undefined {
  return access.safeParse(readJson(accessFile(folderOf(home, database)))).data;
}

/** Ends databases that a killed platform left running. */
export async function stopLeftoverDatabases(home: Home): Promise<void> {
  for (const database of DATABASES) if (foldersOf(home).includes(database)) await stopDatabase(home, database);
}

/** Ends the servers of a broker that is gone. */
export async function stopDatabase(home: Home, database: Database): Promise<void> {
  const env = environment(folderOf(home, database));
  const child = spawn(process.execPath, [PROGRAM, database, "stop"], { env, stdio: "ignore" });
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_DEADLINE_MS);
  await once(child, "close").catch(() => undefined);
  clearTimeout(timer);
}

function foldersOf(home: Home): string[] {
  try {
    return readdirSync(join(home.dir, "services"));
  } catch {
    return []; // none was ever enabled
  }
}

/** Databases get nothing of this process's environment but the path of their programs. */
function environment(folder: string): Record<string, string> {
  return { DATA: folder, PATH: process.env["PATH"] ?? "" };
}

function folderOf(home: Home, database: Database): string {
  const folder = join(home.dir, "services", database);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

function accessFile(folder: string): string {
  return join(folder, "access.json");
}

function newAccess(): BrokerAccess {
  return { username: "cupola", password: randomBytes(24).toString("base64url"), port: 0 };
}
