// The directory that holds all state of a laptop's Cupola, and the note in it of the process that runs there.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { findProcess } from "../backends/host/process-table.ts";

/** Paths below CUPOLA_HOME. */
export interface Home {
  dir: string;
  kubeconfig: string;
  /** The embedded API server's data. */
  kube: string;
  /** Blobs, droplets, instances: what the backends keep. */
  data: string;
  log: string;
  /** The process that runs here now. */
  runFile: string;
  /** Tokens. */
  stateFile: string;
}

/** `--home`, else CUPOLA_HOME, else ~/.cupola. */
export function homeAt(dir: string | undefined): Home {
  const root = resolve(dir ?? process.env["CUPOLA_HOME"] ?? join(homedir(), ".cupola"));
  return {
    dir: root,
    kubeconfig: join(root, "kubeconfig"),
    kube: join(root, "kube"),
    data: join(root, "data"),
    log: join(root, "cupola.log"),
    runFile: join(root, "running.json"),
    stateFile: join(root, "state.json"),
  };
}

/** Readable by this user only: it holds keys and tokens. */
export function makeHome(home: Home): void {
  for (const dir of [home.dir, home.kube, home.data]) mkdirSync(dir, { recursive: true, mode: 0o700 });
}

const running = z.object({
  pid: z.int(),
  /** Tells the process from a later one with its pid. */
  identity: z.string(),
  url: z.string(),
  kubeUrl: z.string(),
  port: z.int(),
  kubePort: z.int(),
  startedAt: z.string(),
  /** The id of the home, for as long as it exists. Homes of older versions have none. */
  id: z.string().optional(),
  /** Where builds look for toolchains. Homes of older versions do not say it. */
  path: z.string().optional(),
});
export type Running = z.output<typeof running>;

/** The process that runs here, if it is alive. A note left by a kill -9 does not count, even when another process has the pid now. */
export async function findRunning(home: Home): Promise<Running | undefined> {
  const { data } = running.safeParse(readJson(home.runFile));
  return data && (await findProcess(data.pid))?.identity === data.identity ? data : undefined;
}

/** Notes that this process runs here. */
export async function writeRunning(home: Home, value: Omit<Running, "pid" | "identity">): Promise<void> {
  const { pid } = process;
  writeJson(home.runFile, { ...value, pid, identity: (await findProcess(pid))?.identity ?? "" });
}

export function clearRunning(home: Home): void {
  rmSync(home.runFile, { force: true });
}

const state = z.object({
  /** Version of the newest Cupola that has run here. */
  version: z.string().optional(),
  /** Tokens of the users of the Kubernetes API, by name. Made again when missing. */
  tokens: z.record(z.string(), z.string()).optional(),
  /** The ports of the last start. */
  ports: z.object({ port: z.int(), kubePort: z.int() }).optional(),
  /** Tells this home from a later one at the same place. */
  id: z.string().optional(),
});
export type LocalState = z.output<typeof state>;

/** The tokens of this laptop's users; empty when there are none yet. @throws Error when the file is damaged */
export function readState(home: Home): LocalState {
  const found = readJson(home.stateFile);
  if (found === undefined) return {};
  const parsed = state.safeParse(found);
  if (!parsed.success)
    throw new Error(
      `${home.stateFile} is damaged. Remove it and start again: it holds only the tokens of the kubeconfig, and new ones are made`,
      { cause: parsed.error },
    );
  return parsed.data;
}

export function writeState(home: Home, value: LocalState): void {
  writeJson(home.stateFile, value);
}

/** Undefined when there is no such file, null when it is no JSON. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Atomic, so that a kill leaves the old file or the new one. */
export function writeJson(path: string, value: unknown): void {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, path);
}
