// Reads YAML that a client sent without holding the event loop: a small text here, a larger one in a worker, in turn with other callers'.
import { extname, join } from "node:path";
import { WorkerPool } from "../server/worker-pool.ts";
import { type YamlAsJson, type YamlDialect, yamlToJson } from "./yaml-to-json.ts";
import type { YamlJob } from "./yaml-worker.ts";

/** Characters that are read here: some milliseconds, less than sending them to a worker costs. */
const MOST_HERE = 4 * 1024;
const WORKERS = 2;
/** A text of the most marks takes a second on an idle machine. */
const DEADLINE_MS = 10_000;
/** How long a worker, which takes some 20 MB, stays for the next text. */
const IDLE_MS = 10_000;
/** Waiting jobs of one caller. */
const MOST_WAITING = 8;

let pool: WorkerPool | undefined;

/** JSON text of the same value. `caller`: who waits in turn with others. @throws WorkRefused when this caller sends too many, or one that takes too long */
export async function readYaml(text: string, dialect: YamlDialect, caller: string): Promise<YamlAsJson> {
  if (text.length <= MOST_HERE) return yamlToJson(text, dialect);
  pool ??= new WorkerPool({
    file: join(import.meta.dirname, `yaml-worker${extname(import.meta.filename)}`),
    most: WORKERS,
    deadlineMs: DEADLINE_MS,
    idleMs: IDLE_MS,
    mostWaiting: MOST_WAITING,
  });
  return pool.run<YamlAsJson>(caller, { text, dialect } satisfies YamlJob);
}
