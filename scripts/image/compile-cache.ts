// Node's compiled form of the sources that every build waits for, kept in the image: a build's first container would spend half its time on that.
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { COMPILE_CACHE_FOLDER } from "../../backends/builders/cnb/plan-pod.ts";
import { runCommand } from "../run-command.ts";
import { listFolder, type ImageEntry } from "./image-entries.ts";

const PROGRAM_FOLDER = "/cupola";
const DEADLINE_MS = 60_000;
/** The cache has hashes of strings, whose seed is random otherwise: the image of a commit is to have one digest. V8 leaves this flag out of the cache's key. */
const SEED = "--random-seed=1";
/** The cache has the paths of the sources: always the same one, for one build at a time. */
const FOLDER = join(tmpdir(), "cupola-compile");
const POLL_MS = 100;

/** The cache's entries. It holds for this Node, on CPUs with the features of this machine's; elsewhere Node passes it over. @param program all entries below `/cupola`. @throws Error with Node's output */
export async function listCompileCache(program: readonly ImageEntry[], node: string): Promise<ImageEntry[]> {
  const root = await makeFolder();
  try {
    const folders = new Set(program.map(({ type, path }) => (type === "directory" ? path : dirname(path))));
    for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
    for (const entry of program) place(root, entry);
    const cache = join(root, COMPILE_CACHE_FOLDER);
    const command: [string, ...string[]] = [node, SEED, "platform/cupola.ts", "fetch-package", "--help"];
    const { code, output } = await runCommand(command, {
      cwd: join(root, PROGRAM_FOLDER),
      deadlineMs: DEADLINE_MS,
      // Flags of V8 are part of the cache's key, and a build's Pod has none.
      env: { NODE_COMPILE_CACHE: cache, NODE_COMPILE_CACHE_PORTABLE: "1", NODE_OPTIONS: "" },
    });
    if (code !== 0 || !existsSync(cache)) throw new Error(`Node compiled no fetch-package for the image:\n${output}`);
    return listFolder(cache, COMPILE_CACHE_FOLDER).map(withContent);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Waits for another build that uses the folder; what a killed one left goes. @throws Error when it cannot be made */
async function makeFolder(): Promise<string> {
  for (;;) {
    try {
      mkdirSync(FOLDER, { mode: 0o700 });
      return FOLDER;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const made = statSync(FOLDER, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - made > 2 * DEADLINE_MS) rmSync(FOLDER, { recursive: true, force: true });
    else await delay(POLL_MS);
  }
}

function place(root: string, entry: ImageEntry): void {
  const path = join(root, entry.path);
  if (entry.type === "symlink") symlinkSync(entry.target, path);
  else if (entry.type === "file" && "source" in entry) linkOrCopy(entry.source, path);
  else if (entry.type === "file") writeFileSync(path, entry.content);
}

/** Thousands of files: a link costs a tenth. */
function linkOrCopy(source: string, path: string): void {
  try {
    linkSync(source, path);
  } catch {
    copyFileSync(source, path); // another file system, say
  }
}

/** Read now: the temporary folder is removed before the image is written. */
function withContent(entry: ImageEntry): ImageEntry {
  if (entry.type !== "file" || !("source" in entry)) return entry;
  const { path, source } = entry;
  return { type: "file", path, mode: 0o644, content: readFileSync(source) };
}
